package kafkaclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/aws/smithy-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
)

// The rights that are needed, by the names of Kafka's ACLs and of IAM's actions.
const (
	describe        = "Describe (IAM: kafka-cluster:DescribeTopic)"
	describeConfigs = "DescribeConfigs (IAM: kafka-cluster:DescribeTopicDynamicConfiguration)"
	read            = "Read (IAM: kafka-cluster:ReadData)"
	write           = "Write (IAM: kafka-cluster:WriteData)"
	create          = "Create (IAM: kafka-cluster:CreateTopic)"
	alter           = "Alter (IAM: kafka-cluster:AlterTopic)"
	idempotent      = "IdempotentWrite (IAM: kafka-cluster:WriteDataIdempotently)"
)

// denied says which right to grant where a broker refused for want of one.
func denied(err error, right, topic string) error {
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fmt.Errorf("%w: %w: grant %s on topic %s", mirror.ErrDenied, err, right, topic)
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fmt.Errorf("%w: %w: grant %s on the cluster", mirror.ErrDenied, err, right)
	}
	return err
}

// fault completes the error of a request that was not answered with the cluster and what to check.
func (c *cluster) fault(err error) error {
	var code *kerr.Error
	if errors.As(err, &code) && code != kerr.SaslAuthenticationFailed && code != kerr.UnsupportedSaslMechanism {
		return err // an answer
	}
	seeds, _ := c.client.OptValue(kgo.SeedBrokers).([]string)
	reached := len(c.client.DiscoveredBrokers()) > 0
	return fmt.Errorf("%s cluster at %s: %w%s", c.role, strings.Join(seeds, ","), err, hint(err, reached, strings.ToUpper(c.role)))
}

// hint says what to check; empty when the error says it all. reached is whether the cluster ever answered, prefix that of
// its settings.
func hint(err error, reached bool, prefix string) string {
	var (
		hungUp    *kgo.ErrFirstReadEOF
		authority *tls.CertificateVerificationError
		network   *net.OpError
		aws       *smithy.OperationError
	)
	switch {
	case errors.As(err, &aws):
		return "" // it was not the cluster
	case errors.As(err, &hungUp), errors.Is(err, io.EOF) && !reached, errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Sprintf(" (check %[1]s_SECURITY_PROTOCOL, %[1]s_SASL_MECHANISM and the credentials in %[1]s_SECRET_ARN)", prefix)
	case errors.As(err, &authority):
		return fmt.Sprintf(" (check %[1]s_CA_SECRET_ARN and the host names in %[1]s_BOOTSTRAP_SERVERS)", prefix)
	case errors.As(err, &network) && network.Op == "remote error":
		return fmt.Sprintf(" (the broker refused the TLS handshake: check the certificate in %s_SECRET_ARN)", prefix)
	case errors.As(err, &network) && network.Op == "dial", errors.Is(err, context.DeadlineExceeded) && !reached:
		return fmt.Sprintf(" (check %s_BOOTSTRAP_SERVERS, and that the function's subnets and security groups reach them)", prefix)
	}
	return ""
}
