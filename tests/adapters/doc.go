// Package adapters plays seeds with the real adapters over embedded brokers, whose connections are cut, and a state store that
// loses answers. What package chaos does by the hundred thousand, against models, is done here by the hundred.
package adapters
