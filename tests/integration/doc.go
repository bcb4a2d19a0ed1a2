//go:build integration

// Package integration puts the built mirror function between two real Kafka brokers, with a second emulator of DynamoDB
// behind it, and compares what the brokers hold. `make integration` fetches what it needs and runs it.
//
// The two brokers and the emulator are started once, by TestMain; a test makes topics of its own on them. They end with the
// test process, however that ends. What is random comes from a seed that is printed and can be given: -seed.
package integration
