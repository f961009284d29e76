package pane

import (
	"time"

	"signalbox/model/acop"
	"signalbox/ui/kit"
	"signalbox/ui/theme"
)

// The window in which a holder should renew, as shares of the TTL that passed
// (core "LeaseHeartbeat": renew between 50 and 80 percent).
const (
	renewFrom = 0.5
	renewBy   = 0.8
)

// Lease is how a lease is drawn: what is left of its TTL, never what the holder
// said about itself.
type Lease struct {
	Ratio float64       // of the TTL that is left, 0..1
	Left  time.Duration // until it lapses, at least 0
	Word  string        // held, renew due, renew late, lapsed
	Style theme.Style
}

// LeaseOf judges l at ownerNow, an instant of the owner's clock.
func LeaseOf(st *theme.Styles, l *acop.Lease, ownerNow time.Time) Lease {
	ttl := time.Duration(l.TTLSeconds) * time.Second
	if ttl <= 0 {
		ttl = l.Claim.ExpiresAtUTC.Sub(l.Claim.GrantedAtUTC)
	}
	left := l.Claim.ExpiresAtUTC.Std().Sub(ownerNow)
	out := Lease{Left: max(0, left)}
	if ttl > 0 {
		out.Ratio = min(1, float64(out.Left)/float64(ttl))
	}
	switch passed := 1 - out.Ratio; {
	case left <= 0:
		out.Word, out.Style = "lapsed", st.Bad
	case passed > renewBy:
		out.Word, out.Style = "renew late", st.Warn
	case passed > renewFrom:
		out.Word, out.Style = "renew due", st.Wait
	default:
		out.Word, out.Style = "held", st.OK
	}
	return out
}

// Odds says where the holder's own word and the owner's do not go together, such
// as after a session that ended without giving its work back; "" where they do.
func Odds(it *acop.Item) string {
	said := it.Lease.Contradiction()
	if said == "" {
		return ""
	}
	return "agent says " + Clean(said, 30) + ", item says " + string(it.Status())
}

// Bar draws the lease in n cells.
func (l Lease) Bar(st *theme.Styles, n int) string { return kit.Bar(st.G, l.Ratio, n) }

// Window draws, under a bar of n cells that empties to the left, where the
// holder should renew.
func Window(st *theme.Styles, n int) string {
	by := int(float64(n)*(1-renewBy) + 0.5)
	from := int(float64(n)*(1-renewFrom) + 0.5)
	if n < 8 {
		return kit.Blank(n)
	}
	out := kit.Blank(by)
	for i := by; i < from; i++ {
		out += st.G.H
	}
	return out + kit.Blank(n-from)
}
