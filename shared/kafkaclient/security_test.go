package kafkaclient_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/youmark/pkcs8"

	"tidemark/shared/config"
	"tidemark/shared/kafkaclient"
)

// vault holds secrets by their ARN.
type vault struct {
	mu      sync.Mutex
	secrets map[string]string
}

// Secret implements kafkaclient.Secrets.
func (v *vault) Secret(_ context.Context, arn string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	secret, ok := v.secrets[arn]
	if !ok {
		return "", fmt.Errorf("no secret %s", arn)
	}
	return secret, nil
}

func (v *vault) put(arn string, fields map[string]string) {
	text, _ := json.Marshal(fields) // strings always encode
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.secrets == nil {
		v.secrets = map[string]string{}
	}
	v.secrets[arn] = string(text)
}

const password = "correct horse"

func login(secret string) map[string]string {
	return map[string]string{"username": "mirror", "password": secret}
}

// ask opens a source by configuration and asks it for its id.
func ask(t *testing.T, c config.Cluster, v *vault) error {
	t.Helper()
	options, err := kafkaclient.Options(c, kafkaclient.Access{Secrets: v})
	if err != nil {
		return err
	}
	_, err = sourceOf(t, options).ClusterID(soon(t))
	return err
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []config.SASLMechanism{config.Plain, config.SCRAMSHA256, config.SCRAMSHA512} {
		t.Run(string(mechanism), func(t *testing.T) {
			t.Parallel()
			c := brokers(t, kfake.EnableSASL(), kfake.Superuser(string(mechanism), "mirror", password))
			cluster := config.Cluster{
				Alias: "us", BootstrapServers: c.ListenAddrs(), SecurityProtocol: config.SASLPlaintext, SASLMechanism: mechanism, SecretARN: "arn",
			}
			v := &vault{}
			v.put("arn", login("wrong"))
			err := ask(t, cluster, v)
			mentions(t, err, "source cluster", "SOURCE_SECRET_ARN")
			if err != nil && strings.Contains(err.Error(), "wrong") {
				t.Errorf("the error tells the password: %v", err)
			}
			v.put("arn", login(password))
			if err := ask(t, cluster, v); err != nil {
				t.Errorf("with the right password: %v", err)
			}
			cluster.SecurityProtocol, cluster.SASLMechanism = config.Plaintext, ""
			if err := ask(t, cluster, v); err == nil {
				t.Error("without a password: no error, want the broker to demand one")
			}
		})
	}
}

// TestRotatedSecret changes the password while a client is open: its next connections use the new one.
func TestRotatedSecret(t *testing.T) {
	t.Parallel()
	c := brokers(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "mirror", password))
	v := &vault{}
	v.put("arn", login("old"))
	options, err := kafkaclient.Options(config.Cluster{
		Alias: "us", BootstrapServers: c.ListenAddrs(), SecurityProtocol: config.SASLPlaintext, SASLMechanism: config.Plain, SecretARN: "arn",
	}, kafkaclient.Access{Secrets: v})
	if err != nil {
		t.Fatal(err)
	}
	target := targetOf(t, options)
	if _, err := target.ClusterID(soon(t)); err == nil {
		t.Fatal("the old password passes")
	}
	v.put("arn", login(password))
	if n, err := producerOf(t, target).Produce(soon(t), valued("a")); n != 1 || err != nil {
		t.Errorf("Produce after the secret was put right = %d, %v, want 1", n, err)
	}
}

// authority makes certificates.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pem         string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.certificate, a.key = template, newKey(t)
	a.certificate, a.pem = a.sign(t, template, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(t *testing.T, template *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, string) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// issue makes a certificate for 127.0.0.1 that serves both sides; the key is encrypted with the password, if there is one.
func (a *authority) issue(t *testing.T, password string) (certificate, key string) {
	t.Helper()
	private := newKey(t)
	_, certificate = a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "mirror"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, private)
	kind, secret := "PRIVATE KEY", []byte(nil)
	if password != "" {
		kind, secret = "ENCRYPTED PRIVATE KEY", []byte(password)
	}
	der, err := pkcs8.MarshalPrivateKey(private, secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// server is the brokers' side.
func (a *authority) server(t *testing.T, clients tls.ClientAuthType) *tls.Config {
	t.Helper()
	certificate, key := a.issue(t, "")
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: clients, ClientCAs: pool, MinVersion: tls.VersionTLS12}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	c := brokers(t, kfake.TLS(a.server(t, tls.NoClientCert)))
	v := &vault{secrets: map[string]string{"authority": a.pem, "stranger": stranger.pem}}
	cluster := config.Cluster{Alias: "us", BootstrapServers: c.ListenAddrs(), SecurityProtocol: config.SSL, CASecretARN: "authority"}
	if err := ask(t, cluster, v); err != nil {
		t.Errorf("with the brokers' authority: %v", err)
	}
	cluster.CASecretARN = "stranger"
	mentions(t, ask(t, cluster, v), "source cluster", "SOURCE_CA_SECRET_ARN")
	cluster.SecurityProtocol, cluster.CASecretARN = config.Plaintext, ""
	if err := ask(t, cluster, v); err == nil {
		t.Error("without TLS: no error, want the broker to demand it")
	}
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	c := brokers(t, kfake.TLS(a.server(t, tls.RequireAndVerifyClientCert)))
	v := &vault{secrets: map[string]string{"authority": a.pem}}
	secret := func(arn string, by *authority, password string) {
		certificate, key := by.issue(t, password)
		v.put(arn, map[string]string{"certificate": certificate, "privateKey": key, "privateKeyPassword": password})
	}
	secret("plain", a, "")
	secret("encrypted", a, password)
	secret("stranger", stranger, "")
	cluster := config.Cluster{Alias: "us", BootstrapServers: c.ListenAddrs(), SecurityProtocol: config.SSL, CASecretARN: "authority"}
	for arn, want := range map[string]bool{"plain": true, "encrypted": true, "stranger": false, "": false} {
		cluster.SecretARN = arn
		err := ask(t, cluster, v)
		if (err == nil) != want {
			t.Errorf("client certificate %q: %v, want success %t", arn, err, want)
		}
		if !want {
			mentions(t, err, "source cluster", "SOURCE_SECRET_ARN")
		}
	}
}

func TestSecretsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	c := brokers(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "mirror", password))
	for name, secret := range map[string]string{"no JSON": password, "no password": `{"username":"` + password + `"}`, "a list": `["` + password + `"]`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ask(t, config.Cluster{
				Alias: "us", BootstrapServers: c.ListenAddrs(), SecurityProtocol: config.SASLPlaintext, SASLMechanism: config.Plain, SecretARN: "arn",
			}, &vault{secrets: map[string]string{"arn": secret}})
			mentions(t, err, "secret arn", "username", "password")
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

// counted is a provider of AWS credentials.
type counted struct {
	mu    sync.Mutex
	asked int
}

// Retrieve implements aws.CredentialsProvider.
func (c *counted) Retrieve(context.Context) (aws.Credentials, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret", SessionToken: "token"}, nil
}

// TestIAMAsksForCredentialsAtEachAuthentication signs without a broker: embedded ones do not know the mechanism.
func TestIAMAsksForCredentialsAtEachAuthentication(t *testing.T) {
	t.Parallel()
	provider := &counted{}
	options, err := kafkaclient.Options(config.Cluster{
		Alias: "us", BootstrapServers: []string{"127.0.0.1:1"}, SecurityProtocol: config.SASLSSL, SASLMechanism: config.MSKIAM,
	}, kafkaclient.Access{Credentials: provider})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	mechanisms, _ := client.OptValue(kgo.SASL).([]sasl.Mechanism)
	if len(mechanisms) != 1 || mechanisms[0].Name() != "AWS_MSK_IAM" {
		t.Fatalf("mechanisms %v, want AWS_MSK_IAM", mechanisms)
	}
	for n := range 2 {
		_, signed, err := mechanisms[0].Authenticate(t.Context(), "b-1.flow.kafka.eu-west-1.amazonaws.com:9098")
		if err != nil || !strings.Contains(string(signed), "id/") || !strings.Contains(string(signed), "/eu-west-1/kafka-cluster/") {
			t.Errorf("authentication %d = %q, %v, want it signed by the provider's key for the broker's region", n, signed, err)
		}
		if provider.asked != n+1 {
			t.Errorf("the provider was asked %d times after %d authentications", provider.asked, n+1)
		}
	}
}

func TestOptionsRefuseWhatCanNeverWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]config.Cluster{
		"IAM without credentials":     {SecurityProtocol: config.SASLSSL, SASLMechanism: config.MSKIAM},
		"password without secrets":    {SecurityProtocol: config.SASLSSL, SASLMechanism: config.Plain, SecretARN: "arn"},
		"certificate without secrets": {SecurityProtocol: config.SSL, SecretARN: "arn"},
		"unknown protocol":            {SecurityProtocol: "TLS"},
		"unknown mechanism":           {SecurityProtocol: config.SASLSSL, SASLMechanism: "GSSAPI"},
	} {
		c.Alias = "us"
		if _, err := kafkaclient.Options(c, kafkaclient.Access{}); err == nil || !strings.Contains(err.Error(), "cluster us") {
			t.Errorf("%s: %v, want an error that names the cluster", name, err)
		}
	}
}
