//go:build java

// Package java asks the Java classes of MirrorMaker 2 whether Tidemark does the same. It needs Java 17 and Maven, which
// fetches Kafka's own jars the first time and works offline from then on:
//
//	go test -tags java ./tests/java -v -histories 10000 -seed 1
//
// What is random comes from the seed, so that a difference can be played again.
package java
