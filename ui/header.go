package ui

import (
	"fmt"
	"slices"
	"strings"

	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// piece is a part of the header that goes when there is no room; the highest
// rank goes first, 0 never.
type piece struct {
	text  string
	style theme.Style
	rank  int
}

// header is the first line: tabs at the left, connections and identity at the
// right.
func (m *Model) header() string {
	right := m.status()
	w := m.size.w
	tabs, _ := m.tabs(w)
	tw := width(tabs)
	for tw+1+width(right) > w && drop(&right) {
	}
	if tw+1+width(right) > w {
		tabs = tabs[:0]
		tw = 0
	}
	gap := max(0, w-tw-width(right))
	return kit.FitStyled(render(tabs)+kit.Blank(gap)+render(right), w)
}

// tabs draws the six tabs and says where each stands.
func (m *Model) tabs(w int) ([]piece, []spot) {
	st := m.look.styles
	ctx := m.bodyCtx()
	out := []piece{{" ", st.Text, 0}}
	x := 1
	if w >= 110 && m.state.Link.State == fleet.LinkLive {
		// The name gives way to words about trouble.
		out = append(out, piece{"signalbox ", st.Strong, 0}, piece{" ", st.Text, 0})
		x += 11
	}
	var spots []spot
	for i, r := range m.rooms.all {
		style, key := st.Muted, st.Muted
		if i == m.rooms.at {
			style, key = st.Title, st.Title
		}
		num := string(rune('1' + i))
		label := r.Name()
		if w >= 76 {
			num += " "
		}
		badge := r.Badge(ctx)
		n := text.Width(num) + text.Width(label)
		out = append(out, piece{num, key, 0}, piece{label, style, 0})
		if badge != "" {
			out = append(out, piece{" " + badge, m.badgeStyle(r.ID()), 0})
			n += 1 + text.Width(badge)
		}
		gap := "  "
		if w < 96 {
			gap = " "
		}
		out = append(out, piece{gap, st.Text, 0})
		spots = append(spots, spot{x, n, string(r.ID())})
		x += n + len(gap)
	}
	return out, spots
}

func (m *Model) badgeStyle(id screen.ID) theme.Style {
	if id == screen.Queue {
		return m.look.styles.Warn
	}
	return m.look.styles.Text
}

// status tells how the program is connected and who it is.
func (m *Model) status() []piece {
	st := m.look.styles
	var out []piece
	if m.state.Settings.Frozen {
		out = append(out, piece{" FROZEN ", st.Badge, 0}, piece{" ", st.Text, 0})
	}
	if m.opts.ReadOnly {
		out = append(out, piece{" READ-ONLY ", st.Badge, 0}, piece{" ", st.Text, 0})
	}
	out = append(out, m.ownerStatus()...)
	if len(m.state.ProviderOrder) > 0 {
		out = append(out, m.providerStatus()...)
	}
	if id := m.self(); id != "" {
		out = append(out, piece{"  " + shortID(id, 14), st.Muted, 4})
	}
	return append(out, piece{"  " + kit.Clock(m.clock.now, false) + " ", st.Muted, 3})
}

// ownerStatus tells how the link to the owner is, in words when it is not well.
func (m *Model) ownerStatus() []piece {
	st, l := m.look.styles, m.state.Link
	g := st.G
	switch l.State {
	case fleet.LinkLive:
		return []piece{
			{g.On, st.OK, 0}, {" " + m.serverName(), st.Muted, 7}, {fmt.Sprintf(" rev %d", m.state.Revision), st.Text, 2},
		}
	case fleet.LinkDegraded:
		out := []piece{{g.Off + " owner lost", st.Bad, 0}}
		if !l.LastSeen.IsZero() {
			out = append(out, piece{", as of " + kit.Since(l.LastSeen, m.clock.now), st.Warn, 0})
		}
		return append(out, piece{fmt.Sprintf(", reconnecting, try %d", max(1, l.Try)), st.Muted, 1})
	case fleet.LinkRefused:
		return []piece{{g.Off + " refused by the owner", st.Bad, 0}}
	}
	return []piece{{g.Off + " connecting", st.Wait, 0}, {" " + m.serverName(), st.Muted, 5}}
}

// serverName is the owner's address without what everybody knows.
func (m *Model) serverName() string {
	s := m.state.Link.Server
	if s == "" {
		s = m.opts.Server
	}
	if m.opts.CarriesOwner || s == "" {
		return "local"
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
	return text.Middle(text.ID(strings.TrimSuffix(s, "/")), 24)
}

func (m *Model) providerStatus() []piece {
	st := m.look.styles
	up, all := 0, len(m.state.ProviderOrder)
	for _, p := range m.state.Providers {
		if p.Reachable != nil && *p.Reachable {
			up++
		}
	}
	dot, style, rank := st.G.On, st.OK, 6
	switch {
	case up == 0:
		dot, style, rank = st.G.Off, st.Bad, 1
	case up < all:
		style, rank = st.Warn, 1
	}
	return []piece{{"  " + dot, style, rank}, {fmt.Sprintf(" %d/%d providers", up, all), st.Muted, rank}}
}

func width(ps []piece) int {
	n := 0
	for _, p := range ps {
		n += text.Width(p.text)
	}
	return n
}

// drop takes away what can be missed most, and reports whether there was
// something.
func drop(ps *[]piece) bool {
	rank := 0
	for _, p := range *ps {
		rank = max(rank, p.rank)
	}
	if rank == 0 {
		return false
	}
	*ps = slices.DeleteFunc(*ps, func(p piece) bool { return p.rank == rank })
	return true
}

func render(ps []piece) string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.style.Render(p.text))
	}
	return b.String()
}
