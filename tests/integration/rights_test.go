//go:build integration

package integration

import (
	"encoding/json"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/shared/mm2"
)

// login stores the mirror user's name and password and returns what the function needs to log in to the target.
func login(t *testing.T) []string {
	t.Helper()
	api := secretsmanager.New(secretsmanager.Options{
		BaseEndpoint: &aws.url, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	text, err := json.Marshal(map[string]string{"username": mirrorUser, "password": mirrorPassword})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := api.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: awssdk.String(t.Name()), SecretString: awssdk.String(string(text))})
	if err != nil {
		t.Fatalf("store secret: %v", err)
	}
	return []string{
		"TARGET_BOOTSTRAP_SERVERS=" + target.secured, "TARGET_SECURITY_PROTOCOL=SASL_PLAINTEXT", "TARGET_SASL_MECHANISM=PLAIN",
		"TARGET_SECRET_ARN=" + *stored.ARN, "AWS_ENDPOINT_URL_SECRETS_MANAGER=" + aws.url,
	}
}

// grant lets the mirror user do something with a topic.
func (b *broker) grant(t *testing.T, topic string, operations ...kadm.ACLOperation) {
	t.Helper()
	rights := kadm.NewACLs().Topics(topic).ResourcePatternType(kadm.ACLPatternLiteral).Operations(operations...).Allow("User:" + mirrorUser)
	made, err := b.admin(t).CreateACLs(t.Context(), rights)
	if err != nil {
		t.Fatalf("grant %v on %s: %v", operations, topic, err)
	}
	for _, m := range made {
		if m.Err != nil {
			t.Fatalf("grant %v on %s: %v", operations, topic, m.Err)
		}
	}
}

// TestRightsMissing begins with a user who may do nothing on the target, then all but write, then what the README asks for.
func TestRightsMissing(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
	const records = 100
	write(t, source.client(t), secrets(tp, records)...)
	f := newFlow(t, tp.Topic, settings{env: login(t), timeout: 6 * time.Second})

	err := f.failure(t, f.failures(), time.Minute)
	t.Log("without any right:", err)
	wantText(t, err, tp.String(), "AUTHORIZATION_FAILED")

	target.grant(t, f.remote, kadm.OpCreate, kadm.OpDescribe, kadm.OpDescribeConfigs, kadm.OpRead)
	target.grant(t, "another", kadm.OpWrite) // enough for a producer id
	for deadline := time.Now().Add(time.Minute); target.partitions(t, f.remote) == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no remote topic: %v", f.failure(t, f.failures()-1, 0))
		}
	}
	err = f.failure(t, f.failures(), time.Minute)
	t.Log("without the right to write:", err)
	wantText(t, err, tp.String(), "at 0", "AUTHORIZATION_FAILED")
	f.untouched(t, 0, 0)

	target.grant(t, f.remote, kadm.OpWrite)
	f.caughtUp(t, 1, time.Minute)
	f.same(t, records)
}
