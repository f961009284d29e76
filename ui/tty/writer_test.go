//go:build unix

package tty

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
)

// patient is longer than any machine needs for what is waited for.
const patient = 30 * time.Second

// rig is a writer on a real terminal and the side that reads it.
type rig struct {
	t     *testing.T
	w     *Writer
	far   *os.File
	ready chan bool
}

func newRig(t *testing.T) *rig {
	t.Helper()
	far, near, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close(); _ = near.Close() })
	if _, err := term.MakeRaw(near.Fd()); err != nil { // no line feed becomes two bytes
		t.Fatal(err)
	}
	r := &rig{t: t, far: far, ready: make(chan bool, 1)}
	r.w = New(near, Limit, func(lost bool) { r.ready <- lost })
	return r
}

// write writes in a time that no stopped terminal could hold up.
func (r *rig) write(s string) error {
	r.t.Helper()
	done := make(chan error, 1)
	go func() {
		n, err := r.w.Write([]byte(s))
		if err == nil && n != len(s) {
			err = io.ErrShortWrite
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(patient):
		r.t.Fatal("a write waits for the terminal")
		return nil
	}
}

// read reads n bytes on the far side.
func (r *rig) read(n int) string {
	r.t.Helper()
	b := make([]byte, n)
	got := make(chan error, 1)
	go func() { _, err := io.ReadFull(r.far, b); got <- err }()
	select {
	case err := <-got:
		if err != nil {
			r.t.Fatal(err)
		}
	case <-time.After(patient):
		r.t.Fatalf("%d bytes do not come", n)
	}
	return string(b)
}

// told waits for ready and gives what it told.
func (r *rig) told() (lost bool) {
	r.t.Helper()
	select {
	case lost = <-r.ready:
	case <-time.After(patient):
		r.t.Fatal("nobody tells that the terminal has taken all")
	}
	return lost
}

// frame is the nth of many different ones.
func frame(n, length int) string {
	s := fmt.Sprintf("\x1b[%d;1Hframe %d\n", n, n)
	return s + strings.Repeat("x", length-len(s))
}

// B95: a terminal that takes nothing holds up nobody who writes; once it reads, it
// gets all of it in its order, and who asked is told once.
func TestStoppedTerminalHoldsUpNobody(t *testing.T) {
	r := newRig(t)
	if r.w.Behind() {
		t.Error("behind before anything was written")
	}
	var want strings.Builder
	for n := range 100 {
		f := frame(n, 3000)
		want.WriteString(f)
		if err := r.write(f); err != nil {
			t.Fatal(err)
		}
	}
	if !r.w.Behind() {
		t.Error("300 kB are out, and nobody reads")
	}
	if got := r.read(want.Len()); got != want.String() {
		t.Error("other bytes arrive than were written")
	}
	if r.told() || r.w.Behind() {
		t.Error("something was lost, or still waits")
	}
	// Nobody has asked since: nothing is told.
	if err := r.write("more"); err != nil || r.read(4) != "more" || !r.w.Drain(patient, patient) {
		t.Error(err)
	}
	if len(r.ready) > 0 {
		t.Error("told unasked")
	}
}

// What waits is bounded; a write is refused as a whole, and it is told so that the
// screen can be drawn anew.
func TestWhatWaitsIsBounded(t *testing.T) {
	r := newRig(t)
	var want strings.Builder
	refused := 0
	for n := range 200 {
		f := frame(n, 10_000) // 2 MB
		switch err := r.write(f); {
		case err == nil:
			want.WriteString(f)
		case errors.Is(err, ErrBehind):
			refused++
		default:
			t.Fatal(err)
		}
	}
	if refused == 0 || want.Len() < Limit || want.Len() > Limit+50_000 { // what the kernel holds comes on top
		t.Errorf("%d bytes were taken, %d writes refused", want.Len(), refused)
	}
	if got := r.read(want.Len()); got != want.String() {
		t.Error("other bytes arrive than were taken")
	}
	if !r.told() {
		t.Error("nobody is told that something was lost")
	}
	if err := r.write("again"); err != nil || r.read(5) != "again" {
		t.Errorf("after it has caught up: %v", err)
	}
}

// Who leaves the terminal waits until all is out, as long as something moves, and
// not for ever.
func TestDrain(t *testing.T) {
	r := newRig(t)
	if !r.w.Drain(time.Nanosecond, time.Nanosecond) {
		t.Error("it waits for nothing")
	}
	const length = 200_000
	if err := r.write(frame(1, length)); err != nil {
		t.Fatal(err)
	}
	if r.w.Drain(20*time.Millisecond, patient) {
		t.Error("all is out, and nobody reads")
	}
	if r.w.Drain(patient, 20*time.Millisecond) {
		t.Error("all is out, and nobody reads")
	}
	// A slow reader: each byte that moves is worth the patience anew.
	var got bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := make([]byte, 1000); got.Len() < length; {
			n, err := r.far.Read(b)
			if err != nil {
				t.Error(err)
				return
			}
			got.Write(b[:n])
		}
	}()
	if !r.w.Drain(patient, patient) || r.w.Behind() {
		t.Error("it gave up although something moved")
	}
	<-done
	if got.String() != frame(1, length) {
		t.Error("other bytes arrive than were written")
	}
}

// A terminal that is gone fails every later write and holds up nobody.
func TestTerminalIsGone(t *testing.T) {
	r := newRig(t)
	if err := r.write(frame(1, 100_000)); err != nil {
		t.Fatal(err)
	}
	if !r.w.Behind() {
		t.Error("100 kB are out, and nobody reads")
	}
	_ = r.far.Close()
	if r.told() || r.w.Behind() || r.w.Drain(patient, patient) {
		t.Error("it waits on, or says that all is out")
	}
	if err := r.write("x"); err == nil || errors.Is(err, ErrBehind) {
		t.Errorf("a write to it: %v", err)
	}
}
