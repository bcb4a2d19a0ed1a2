package kafkaclient

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

var _ Secrets = (*SecretsManager)(nil)

// SecretsManager reads secrets from AWS Secrets Manager and keeps each for a minute. It is safe for concurrent use.
type SecretsManager struct {
	client *secretsmanager.Client
	age    time.Duration // how long a secret is kept

	mu   sync.Mutex // guards kept; held while a secret is read, so that connections that open at once read it once
	kept map[string]keptSecret
}

type keptSecret struct {
	value string
	until time.Time
}

// NewSecretsManager returns a client of the region and endpoint that c names.
func NewSecretsManager(c aws.Config) *SecretsManager {
	return &SecretsManager{client: secretsmanager.NewFromConfig(c), age: time.Minute, kept: make(map[string]keptSecret)}
}

// Secret implements Secrets. A secret whose minute is over is not used while it cannot be read again.
func (s *SecretsManager) Secret(ctx context.Context, arn string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpFor)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.kept[arn]; ok && time.Now().Before(k.until) {
		return k.value, nil
	}
	answer, err := s.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String(arn)})
	if err != nil {
		return "", fmt.Errorf("get secret %s (is secretsmanager:GetSecretValue granted, and kms:Decrypt on its key?): %w", arn, err)
	}
	if answer.SecretString == nil {
		return "", fmt.Errorf("get secret %s: it is binary, want a string", arn)
	}
	s.kept[arn] = keptSecret{value: *answer.SecretString, until: time.Now().Add(s.age)}
	return *answer.SecretString, nil
}
