// Package chaos plays the whole mirror task against model clusters under a seeded scheduler, in its tests.
//
// Every call of the task on one of its ports parks. When all goroutines are blocked (synctest.Wait), the scheduler picks
// what happens next from a seed: let one call through, fail it, apply it and report a failure, kill its process before or
// after, freeze it past its deadline, repeat a state write later, land a late produce, replicate, compact, start another
// delivery, or let time pass. Nothing else decides anything, so a seed is a schedule:
//
//	go test ./tests/chaos -run TestSchedules -seed 4711 -schedules 1 -v
//
// At the end both logs are compared record by record. The faults of this world may cause no loss, no reordering and no
// duplicate, so it requires equality. What it leaves out: recreated and truncated topics, expired records, foreign
// writers, and a process that stands still between its deadline check and its send; the last is what fencing is for.
package chaos
