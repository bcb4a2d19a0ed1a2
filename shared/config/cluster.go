package config

import (
	"net"
	"strconv"
	"strings"
)

// Cluster is how to reach one cluster.
type Cluster struct {
	Alias            string
	BootstrapServers []string         // host:port
	SecurityProtocol SecurityProtocol // Plaintext if not set
	SASLMechanism    SASLMechanism    // empty unless the protocol is a SASL one
	SecretARN        string           // of the credentials in Secrets Manager; empty: none
	CASecretARN      string           // of the brokers' certificate authority; empty: the system's
}

// SecurityProtocol is Kafka's security.protocol.
type SecurityProtocol string

// The security protocols.
const (
	Plaintext     SecurityProtocol = "PLAINTEXT"
	SSL           SecurityProtocol = "SSL"
	SASLPlaintext SecurityProtocol = "SASL_PLAINTEXT"
	SASLSSL       SecurityProtocol = "SASL_SSL"
)

// TLS says whether connections are encrypted.
func (p SecurityProtocol) TLS() bool { return p == SSL || p == SASLSSL }

// SASL says whether clients authenticate by SASL.
func (p SecurityProtocol) SASL() bool { return p == SASLPlaintext || p == SASLSSL }

// SASLMechanism is Kafka's sasl.mechanism.
type SASLMechanism string

// The SASL mechanisms.
const (
	MSKIAM      SASLMechanism = "AWS_MSK_IAM"
	SCRAMSHA256 SASLMechanism = "SCRAM-SHA-256"
	SCRAMSHA512 SASLMechanism = "SCRAM-SHA-512"
	Plain       SASLMechanism = "PLAIN"
)

// cluster reads the variables that begin with prefix, "SOURCE_" or "TARGET_".
func (r *reader) cluster(prefix string) Cluster {
	c := Cluster{
		Alias:            r.topicPart(prefix+"CLUSTER_ALIAS", r.required(prefix+"CLUSTER_ALIAS", "want the cluster's alias, the prefix of its topics elsewhere")),
		BootstrapServers: r.servers(prefix + "BOOTSTRAP_SERVERS"),
		SecurityProtocol: SecurityProtocol(r.oneOf(prefix+"SECURITY_PROTOCOL", string(Plaintext), string(SSL), string(SASLPlaintext), string(SASLSSL))),
		SASLMechanism:    SASLMechanism(r.oneOf(prefix+"SASL_MECHANISM", "", string(MSKIAM), string(SCRAMSHA256), string(SCRAMSHA512), string(Plain))),
		SecretARN:        r.secret(prefix + "SECRET_ARN"),
		CASecretARN:      r.secret(prefix + "CA_SECRET_ARN"),
	}
	r.agree(prefix, c)
	return c
}

// agree wants protocol, mechanism and secrets to fit each other.
func (r *reader) agree(prefix string, c Cluster) {
	mechanism, secret, ca := prefix+"SASL_MECHANISM", prefix+"SECRET_ARN", prefix+"CA_SECRET_ARN"
	if r.faulted(prefix+"SECURITY_PROTOCOL") || r.faulted(mechanism) {
		return // what was meant is not known
	}
	protocol := prefix + "SECURITY_PROTOCOL=" + string(c.SecurityProtocol)
	switch {
	case c.SecurityProtocol.SASL() && c.SASLMechanism == "":
		r.fault(mechanism, "", protocol+" needs a mechanism")
	case !c.SecurityProtocol.SASL() && c.SASLMechanism != "":
		r.fault(mechanism, string(c.SASLMechanism), protocol+" has no SASL: set SASL_SSL, or no mechanism")
	case c.SASLMechanism == MSKIAM && c.SecurityProtocol != SASLSSL:
		r.fault(mechanism, string(c.SASLMechanism), "MSK serves IAM over TLS only: set "+prefix+"SECURITY_PROTOCOL=SASL_SSL")
	}
	byPassword := c.SASLMechanism != "" && c.SASLMechanism != MSKIAM
	switch {
	case byPassword && c.SecretARN == "" && !r.faulted(secret):
		r.fault(secret, "", string(c.SASLMechanism)+" needs a secret with username and password")
	case c.SecretARN != "" && !byPassword && c.SecurityProtocol != SSL:
		r.fault(secret, c.SecretARN, "nothing uses it: set a mechanism with a password, or "+prefix+"SECURITY_PROTOCOL=SSL for a client certificate")
	}
	if c.CASecretARN != "" && !c.SecurityProtocol.TLS() {
		r.fault(ca, c.CASecretARN, protocol+" does not use it: set SSL or SASL_SSL")
	}
}

// secret returns the ARN of a secret. Whatever else stands there may be the secret itself, so it is not repeated.
func (r *reader) secret(variable string) string {
	value := r.text(variable, "")
	arn := strings.HasPrefix(value, "arn:") && strings.Contains(value, ":secretsmanager:")
	if value != "" && !arn {
		r.fault(variable, "(not shown)", "want the ARN of a secret in Secrets Manager, arn:...:secretsmanager:...")
		return ""
	}
	return value
}

func (r *reader) servers(variable string) []string {
	servers := r.list(variable, "want host:port, or several with commas between them")
	for _, server := range servers {
		host, port, err := net.SplitHostPort(server)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || n == 0 {
			r.fault(variable, server, "want host:port")
		}
	}
	return servers
}
