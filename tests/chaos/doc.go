// Package chaos plays the whole mirror task against model clusters under a seeded scheduler, in its tests.
//
// Every call of the task on one of its ports parks. When all goroutines are blocked (synctest.Wait), the scheduler picks
// what happens next from a seed: let one call through, fail it, apply it and report a failure, kill its process before or
// after, freeze it past its deadline, repeat a state write later, land a late produce, replicate, compact, start another
// delivery, or let time pass. Nothing else decides anything, so a seed is a schedule:
//
//	go test ./tests/chaos -run TestSchedules -seed 4711 -schedules 1 -v
//
// Beside the faults the world goes its own way: the source grows, gets partitions, compacts, expires, is truncated, deleted and
// made again, opens and aborts transactions; the trigger leaves records out and brings old batches again; the target
// replicates when it likes, lacks replicas, compacts, expires, is deleted, and somebody else writes to it; leaders move, and
// clocks disagree. The oracle knows each record by a tag that nothing
// compares: what lands twice, out of order, or before a record that the source still holds fails the schedule at once, unless
// nobody could have known better and the program said so. With faults over, two catch-ups have to bring everything to its end.
//
// What the processes count is held against the world as well. A schedule that fails is minimised before it is printed.
//
// Package adapters plays fewer seeds with the real adapters over embedded brokers.
package chaos
