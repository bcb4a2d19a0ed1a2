package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	mskiam "github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"tidemark/shared/config"
)

// Secrets reads secrets by their ARN. An implementation may keep one for up to a minute, and no longer: each connection
// reads its secrets anew, so that a rotated one, or one corrected after a failed authentication, is used without a new
// process. It is safe for concurrent use.
type Secrets interface {
	Secret(ctx context.Context, arn string) (string, error)
}

// Access is where the credentials for clusters come from.
type Access struct {
	Secrets     Secrets                 // may be nil where no secret is configured
	Credentials aws.CredentialsProvider // asked at each authentication by AWS_MSK_IAM; may be nil without it
}

// NewAccess takes secrets from Secrets Manager, and IAM credentials as c has them.
func NewAccess(c aws.Config) Access {
	return Access{Secrets: NewSecretsManager(c), Credentials: c.Credentials}
}

// What a new connection waits for at most: its credentials, and then the broker. Several brokers fit into retryFor.
const (
	lookUpFor = 10 * time.Second
	dialFor   = 4 * time.Second
)

// Options turns a cluster's configuration into options for [NewSource] and [NewTarget]. Nothing is read or dialled before
// the first connection, so an error is one of the configuration itself.
func Options(c config.Cluster, a Access) ([]kgo.Opt, error) {
	d := dialer{secrets: a.Secrets, tls: c.SecurityProtocol.TLS(), authority: c.CASecretARN}
	options := []kgo.Opt{kgo.SeedBrokers(c.BootstrapServers...)}
	switch c.SecurityProtocol {
	case config.Plaintext, "":
	case config.SSL:
		d.certificate = c.SecretARN
	case config.SASLPlaintext, config.SASLSSL:
		m, err := mechanism(c, a)
		if err != nil {
			return nil, fmt.Errorf("configure cluster %s: %w", c.Alias, err)
		}
		options = append(options, kgo.SASL(m))
	default:
		return nil, fmt.Errorf("configure cluster %s: unknown security protocol %q", c.Alias, c.SecurityProtocol)
	}
	if a.Secrets == nil && (d.certificate != "" || d.authority != "") {
		return nil, fmt.Errorf("configure cluster %s: %w", c.Alias, errNoSecrets)
	}
	return append(options, kgo.Dialer(d.dial)), nil
}

var errNoSecrets = errors.New("there is nothing to read its secret from")

// mechanism authenticates each connection with the credentials as they are then.
func mechanism(c config.Cluster, a Access) (sasl.Mechanism, error) {
	switch {
	case c.SASLMechanism == config.MSKIAM && a.Credentials == nil:
		return nil, fmt.Errorf("%s needs AWS credentials", c.SASLMechanism)
	case c.SASLMechanism != config.MSKIAM && a.Secrets == nil:
		return nil, errNoSecrets
	}
	scrams := func(ctx context.Context) (scram.Auth, error) {
		l, err := readLogin(ctx, a.Secrets, c.SecretARN)
		return scram.Auth{User: l.Username, Pass: l.Password}, err
	}
	switch c.SASLMechanism {
	case config.Plain:
		return plain.Plain(func(ctx context.Context) (plain.Auth, error) {
			l, err := readLogin(ctx, a.Secrets, c.SecretARN)
			return plain.Auth{User: l.Username, Pass: l.Password}, err
		}), nil
	case config.SCRAMSHA256:
		return scram.Sha256(scrams), nil
	case config.SCRAMSHA512:
		return scram.Sha512(scrams), nil
	case config.MSKIAM:
		return mskiam.ManagedStreamingIAM(func(ctx context.Context) (mskiam.Auth, error) {
			return signWith(ctx, a.Credentials)
		}), nil
	}
	return nil, fmt.Errorf("unknown SASL mechanism %q", c.SASLMechanism)
}

// signWith asks for the credentials that sign one authentication. franz-go's context has no deadline here.
func signWith(ctx context.Context, provider aws.CredentialsProvider) (mskiam.Auth, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpFor)
	defer cancel()
	credentials, err := provider.Retrieve(ctx)
	if err != nil {
		return mskiam.Auth{}, fmt.Errorf("retrieve AWS credentials: %w", err)
	}
	return mskiam.Auth{AccessKey: credentials.AccessKeyID, SecretKey: credentials.SecretAccessKey, SessionToken: credentials.SessionToken}, nil
}
