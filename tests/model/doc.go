// Package model searches every interleaving of a small world, breadth first, for one that loses, doubles or reorders a
// record: a source partition of two or three records, its remote partition, the state item, and two or three invocations
// that may die between any two steps, stand still while others go on, send what lands much later, and lose the answers to
// whatever they write. In every state that it reaches, one more invocation without faults has to bring everything to its
// end, and what is still under way must not land behind it.
//
// It is the code's own rules that decide: watermark.State.Take, Begin and Commit for every write, mirror.Tail.Compare for
// what an invocation finds on the target. The order of the steps is the model's, as package mirror has it. What the model
// leaves out is time (a claim may be taken over at any moment, which is worse), truncation, topic ids and foreign writers;
// package chaos has those.
package model
