package acop

import "testing"

func TestContradiction(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"": false, "working": false, "testing": false, "waiting for its user": false, "idle": false, "stuck": false,
		StatusSessionEnded: true, "done": true, " Completed ": true, "FAILED": true,
	} {
		l := &Lease{LastHeartbeat: &LeaseHeartbeat{ProgressStatus: said}}
		if got := l.Contradiction() != ""; got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
	if (&Lease{}).Contradiction() != "" || (*Lease)(nil).Contradiction() != "" {
		t.Error("without a heartbeat nothing is said")
	}
}
