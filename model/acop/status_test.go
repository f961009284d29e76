package acop

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type matrixFile struct {
	States   []Status          `json:"states"`
	Terminal []Status          `json:"terminal"`
	Start    string            `json:"start"`
	Matrix   map[Status]string `json:"matrix"`
	Triggers [][3]string       `json:"triggers"`
}

func loadMatrix(t *testing.T) matrixFile {
	t.Helper()
	raw, err := os.ReadFile("testdata/workitem_matrix.json")
	if err != nil {
		t.Fatal(err)
	}
	var m matrixFile
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Every cell of the matrix: C-050 to C-055, B.12.
func TestTransitionLevelMatrix(t *testing.T) {
	m := loadMatrix(t)
	if diff := cmp.Diff(m.States, Statuses()); diff != "" {
		t.Fatalf("states (-file +code):\n%s", diff)
	}
	want := map[byte]Level{'M': Must, 'o': May, 'X': Forbidden, 'x': Forbidden, '=': Same}
	count := map[byte]int{}
	for _, from := range m.States {
		row := m.Matrix[from]
		for i, to := range m.States {
			cell := row[i]
			count[cell]++
			if got := TransitionLevel(from, to); got != want[cell] {
				t.Errorf("%s -> %s is %s, the matrix says %c", from, to, got, cell)
			}
		}
	}
	// x counts the two cells that only a diagram draws (D-29) as unlisted.
	if diff := cmp.Diff(map[byte]int{'M': 27, 'o': 4, 'X': 32, 'x': 47, '=': 11}, count); diff != "" {
		t.Errorf("counts (-want +file):\n%s", diff)
	}
}

func TestTransitionTriggers(t *testing.T) {
	want := map[[2]string]string{}
	for _, tr := range loadMatrix(t).Triggers {
		want[[2]string{tr[0], tr[1]}] = tr[2]
	}
	got := map[[2]string]string{}
	for _, tr := range transitions {
		got[[2]string{string(tr.from), string(tr.to)}] = tr.trigger
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("triggers (-file +code):\n%s", diff)
	}
}

// C-053, C-056.
func TestStartAndTerminal(t *testing.T) {
	m := loadMatrix(t)
	for i, s := range m.States {
		if got := CanStart(s); got != (m.Start[i] == 'M') {
			t.Errorf("CanStart(%s) = %v", s, got)
		}
		terminal := false
		for _, x := range m.Terminal {
			terminal = terminal || x == s
		}
		if s.Terminal() != terminal {
			t.Errorf("%s.Terminal() = %v", s, s.Terminal())
		}
	}
	if CanStart("nonsense") || Status("nonsense").Terminal() {
		t.Error("an unknown status is neither a start nor an end")
	}
}

// Nothing is reached through a closed or unknown state, whatever the path.
func TestWalksStayInTheMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SampledFrom([]Status{StatusReady, StatusBlocked, StatusRequiresAttention}).Draw(t, "start")
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			to := rapid.SampledFrom(append(Statuses(), "nonsense", "")).Draw(t, "to")
			l := TransitionLevel(at, to)
			if l.Allowed() && (at.Terminal() || !to.Valid() || at == to) {
				t.Fatalf("%s -> %s is %s", at, to, l)
			}
			if l.Allowed() {
				at = to
			}
		}
	})
}

// B.13, C-063, C-064.
func TestClaimTransition(t *testing.T) {
	for _, from := range ClaimStatuses() {
		for _, to := range ClaimStatuses() {
			want := Forbidden
			switch {
			case from == to:
				want = Same
			case from == ClaimActive:
				want = Must
			}
			if got := ClaimTransition(from, to); got != want {
				t.Errorf("%s -> %s is %s, want %s", from, to, got, want)
			}
		}
	}
	if ClaimTransition(ClaimActive, "gone") != Forbidden || ClaimTransition("", "") != Forbidden {
		t.Error("unknown states change nothing")
	}
}

// Refusal codes by the state left (B.12) and by the claim's state (C.1).
func TestRefusalCodes(t *testing.T) {
	for _, s := range Statuses() {
		want := CodeNotActionable
		switch s {
		case StatusCancelled:
			want = CodeItemCancelled
		case StatusSuperseded:
			want = CodeItemSuperseded
		}
		if got := RefusalCode(s); got != want {
			t.Errorf("RefusalCode(%s) = %s, want %s", s, got, want)
		}
	}
	for s, want := range map[ClaimStatus]Code{
		ClaimActive: "", ClaimReleased: CodeClaimReleased, ClaimExpired: CodeLeaseExpired, ClaimRevoked: CodeClaimRevoked,
	} {
		if got := ClaimRefusalCode(s); got != want {
			t.Errorf("ClaimRefusalCode(%s) = %q, want %q", s, got, want)
		}
	}
}

// C-011, C-013, C-014, C-019, C-028, C-033, C-034, C-044, C-086.
func TestEnumsAreClosed(t *testing.T) {
	for _, v := range []interface{ Valid() bool }{
		Status(""), Status("Ready"), WorkKind("Implement"), WorkKind("deploy"), WorkKind("acmecorp.deploy_prepare"),
		Priority("normal"), Severity("fatal"), Readiness("maybe"), ClaimStatus("stolen"), EntryKind("note"),
		EntryStatus("open"), Role("root"), Family("work"), GrantMode("never"),
	} {
		if v.Valid() {
			t.Errorf("%#v is valid", v)
		}
	}
	for _, v := range []interface{ Valid() bool }{
		StatusReady, KindMergePrepare, PriorityUrgent, SeverityCritical, ReadinessContingent, ClaimRevoked,
		EntryIntegrationNote, EntryResolved, RoleReader, FamilyBlackboard, GrantRules,
	} {
		if !v.Valid() {
			t.Errorf("%#v is not valid", v)
		}
	}
	if PriorityLow.Rank() >= PriorityUrgent.Rank() || SeverityLow.Rank() >= SeverityCritical.Rank() || Priority("x").Rank() != -1 {
		t.Error("ranks are not in order")
	}
}
