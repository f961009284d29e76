package demo

import "time"

// habit is what makes a worker different from a steady one.
type habit int

const (
	steady    habit = iota
	finisher        // done with its first item at once
	silent          // hangs now and then until its lease lapses
	spinner         // renews for long without any progress
	lateBird        // renews in the last moment
	collider        // likes items that overlap with others' work
	asker           // the owner's rules leave its claims to the lead
	reviewer        // accepts old completed work of others and does nothing else
	consulter       // asks an ACMP provider before it writes a finding
)

// member is one worker of the cast.
type member struct {
	id     string
	habit  habit
	arrive time.Duration // after the start
	ttl    int64         // of its leases, seconds
	pace   time.Duration // between two signs of life
}

const (
	producerID  = "planner:atlas"
	conductorID = "conductor:harbor"
)

// castOf is the cast. The order is part of the story: it seeds each one's dice.
var castOf = []member{
	{"agent:badger", finisher, 300 * time.Millisecond, 16, 1500 * time.Millisecond},
	{"agent:otter", steady, 400 * time.Millisecond, 20, 1700 * time.Millisecond},
	{"agent:magpie", collider, 600 * time.Millisecond, 24, 2100 * time.Millisecond},
	{"agent:kestrel", consulter, 700 * time.Millisecond, 18, 1300 * time.Millisecond},
	{"agent:heron", steady, 800 * time.Millisecond, 15, 2300 * time.Millisecond},
	{"agent:moth", silent, 900 * time.Millisecond, 10, 1500 * time.Millisecond},
	{"agent:snail", spinner, 1000 * time.Millisecond, 20, 4 * time.Second},
	{"agent:lynx", lateBird, 1100 * time.Millisecond, 14, 1600 * time.Millisecond},
	{"agent:intern", asker, 3 * time.Second, 40, 2 * time.Second},
	{"agent:owl", reviewer, 1200 * time.Millisecond, 30, 2500 * time.Millisecond},
}
