package runtimeapi

import (
	"os"
	"path/filepath"
)

const (
	region  = "us-east-1"
	account = "000000000000"
)

// environ is the environment of a process: what Lambda sets, and own, which wins. Nothing is inherited but PATH, so that no
// credential of this machine reaches the function, and no setting hides a missing one.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
func environ(name, binary, api string, own []string) []string {
	return append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"AWS_LAMBDA_FUNCTION_NAME=" + name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + name,
		"AWS_LAMBDA_LOG_STREAM_NAME=local",
		"AWS_LAMBDA_LOG_FORMAT=JSON",
		"_HANDLER=bootstrap",
		"LAMBDA_TASK_ROOT=" + filepath.Dir(binary),
		"AWS_REGION=" + region,
		"AWS_DEFAULT_REGION=" + region,
		"AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local",
		"AWS_SESSION_TOKEN=local",
		"AWS_EC2_METADATA_DISABLED=true",
		"TZ=:UTC",
		"PATH=" + os.Getenv("PATH"),
	}, own...)
}

// arn is the ARN of a function of this name.
func arn(name string) string {
	return "arn:aws:lambda:" + region + ":" + account + ":function:" + name
}
