// Package runtimeapi runs a Lambda function's built binary on this machine, behind a Runtime API of its own.
//
// What a function may rely on in Lambda, and what it must survive there, holds here too: an environment is a process that
// handles one invocation at a time and is reused; between two events it is frozen (SIGSTOP), with whatever its goroutines were
// doing; at its timeout it is killed (SIGKILL) and the event fails; after a crash the next event starts a new process. Several
// environments run side by side, up to [Options.Concurrency].
//
// The two names to know are [Function], which is invoked, and [FunctionError], which says how an invocation failed.
//
// The interface is the one of https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html, the phases those of
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html.
package runtimeapi
