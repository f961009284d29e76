package input

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// typist is a source whose bytes come with pauses.
type typist struct {
	mu   sync.Mutex
	wake *sync.Cond
	buf  []byte
	end  bool
}

func newTypist() *typist {
	s := &typist{}
	s.wake = sync.NewCond(&s.mu)
	return s
}

func (s *typist) typ(b string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(s.buf, b...)
	s.wake.Broadcast()
}

func (s *typist) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) == 0 && !s.end {
		s.wake.Wait()
	}
	if len(s.buf) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.buf)
	s.buf = s.buf[n:]
	return n, nil
}

func (s *typist) Cancel() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = true
	s.wake.Broadcast()
	return true
}

// B13, B14, B23: pieces come with pauses; what is read shows in "|" where one
// Read ended.
func TestPieces(t *testing.T) {
	cases := []struct {
		name   string
		pieces []string
		pause  time.Duration
		want   string
	}{
		{"burst", []string{"abcd"}, 0, "abcd"},
		{"wheel after escape", []string{"\x1b", "[<65;12;7M", "j"}, 120 * time.Millisecond, "\x1b[<65;12;7M|j"},
		{"wheel torn", []string{"\x1b[<", "65;12;7M", "j"}, 120 * time.Millisecond, "\x1b[<65;12;7M|j"},
		{"wheel too late", []string{"\x1b", "[<65;12;7M", "j"}, 300 * time.Millisecond, escapeKey + "|j"},
		{"wheel torn too late", []string{"\x1b[<", "65;12;7M", "j"}, 300 * time.Millisecond, "j"},
		{"colour torn", []string{"\x1b]11;rgb:0a0b/0c", "0d/0e0f\x1b\\", "j"}, 120 * time.Millisecond, "\x1b]11;rgb:0a0b/0c0d/0e0f\x1b\\|j"},
		{"colour torn too late", []string{"\x1b]11;rgb:0a0b/0c", "0d/0e0f\x1b\\", "j"}, 300 * time.Millisecond, "j"},
		{"colour torn in its end too late", []string{"\x1b]11;rgb:0a0b/0c0d/0e0f\x1b", "\\", "j"}, 300 * time.Millisecond, "j"},
		{"colour torn twice too late", []string{"\x1b]11;rgb:0a", "0b/0c0d/0e0f\x1b", "\\j"}, 300 * time.Millisecond, "j"},
		{"position torn behind its bracket too late", []string{"\x1b[", "12;40R", "j"}, 300 * time.Millisecond, "\x1b[|j"},
		{"capability torn too late", []string{"\x1b", "P1+r524742\x1b\\", "j"}, 300 * time.Millisecond, escapeKey + "|j"},
		{"attributes", []string{"\x1b[?62;22c"}, 0, "\x1b[?62;22c"},
		{"character torn", []string{"\xe4\xbd", "\xa0"}, 120 * time.Millisecond, "你"},
		{"character never whole", []string{"\xe4\xbd", "x"}, 300 * time.Millisecond, "\xe4\xbd|x"},
		{"escape alone", []string{"\x1b", "j"}, 300 * time.Millisecond, escapeKey + "|j"},
		{"escape then bracket", []string{"\x1b", "["}, 2 * time.Second, escapeKey + "|["},
		{"escape and at once a key", []string{"\x1b", "j"}, 40 * time.Millisecond, escapeKey + "j"},
		{"escape and at once a letter that begins reports", []string{"\x1b", "P", "j"}, 40 * time.Millisecond, escapeKey + "P|j"},
		{"escape and at once an arrow", []string{"\x1b", "\x1b[A"}, 40 * time.Millisecond, escapeKey + "\x1b[A"},
		{"escape and an arrow in one read", []string{"\x1b\x1b[A"}, 0, escapeKey + "\x1b[A"},
		{"escape and a click in one read", []string{"\x1b\x1b[<0;3;4M"}, 0, escapeKey + "\x1b[<0;3;4M"},
		{"escape and a paste in one read", []string{"\x1b\x1b[200~x\x1b[201~"}, 0, escapeKey + "\x1b[200~x\x1b[201~"},
		{"escape twice", []string{"\x1b\x1b"}, 300 * time.Millisecond, escapeKey + "|" + escapeKey},
		{"alt", []string{"\x1bx"}, 0, "\x1bx"},
		{"alt with a character of two bytes", []string{"\x1bä"}, 0, "\x1bä"},
		{"alt torn", []string{"\x1b", "x"}, 5 * time.Millisecond, "\x1bx"},
		{"escapes in a paste", []string{"\x1b[200~a\x1b\x1bb\x1b", "c\x1b[201~"}, 40 * time.Millisecond, "\x1b[200~a\x1b\x1bb|\x1bc\x1b[201~"},
		{"paste", []string{"\x1b[200~a\x1b[2", "01~b"}, 50 * time.Millisecond, "\x1b[200~a|\x1b[201~b"},
		{"arrows", []string{"\x1b[A\x1bOB"}, 0, "\x1b[A\x1bOB"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newTypist()
				r := New(nil)
				r.open = func() (source, error) { return src, nil }
				var got []string
				done := make(chan struct{})
				go func() {
					defer close(done)
					buf := make([]byte, 256)
					for {
						n, err := r.Read(buf)
						if n > 0 {
							got = append(got, string(buf[:n]))
						}
						if err != nil {
							return
						}
					}
				}()
				for _, p := range c.pieces {
					src.typ(p)
					time.Sleep(c.pause)
					synctest.Wait()
				}
				time.Sleep(2 * time.Second)
				_ = r.Close()
				<-done
				if g := strings.Join(got, "|"); g != c.want {
					t.Errorf("got %q, want %q", g, c.want)
				}
			})
		})
	}
}

// The newest reader gets the data; a paused one leaves the terminal alone.
func TestTurnsAndPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newTypist()
		r := New(nil)
		r.open = func() (source, error) { return first, nil }
		old := make(chan int)
		go func() {
			n, _ := r.Read(make([]byte, 8))
			old <- n
		}()
		synctest.Wait()
		fresh := make(chan string)
		go func() {
			buf := make([]byte, 8)
			n, _ := r.Read(buf)
			fresh <- string(buf[:n])
		}()
		if n := <-old; n != 0 {
			t.Errorf("the older reader got %d bytes", n)
		}
		first.typ("a")
		if s := <-fresh; s != "a" {
			t.Errorf("the newer reader got %q", s)
		}
		resume := r.Pause()
		if !first.end {
			t.Error("the terminal is still read")
		}
		second := newTypist()
		r.open = func() (source, error) { return second, nil }
		resume()
		second.typ("b")
		buf := make([]byte, 8)
		if n, err := r.Read(buf); err != nil || string(buf[:n]) != "b" {
			t.Errorf("after the pause: %q, %v", buf[:n], err)
		}
		_ = r.Close()
	})
}

// Wherever the input is cut, the part that is passed on ends where a unit of the
// whole input ends: nothing is torn that belongs together.
func FuzzWhole(f *testing.F) {
	for _, s := range []string{"a\x1b[<65;1;2Mb\x1b]11;x\x07\xe4\xbd\xa0\x1bOP", "000000\xd2\xd3", "\x1b\x1b[A"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:min(len(b), 200)] // every cut is tried: the work grows with the square
		ends := map[int]bool{0: true}
		for i := 0; i < len(b); {
			n := next(b[i:])
			if n == 0 {
				break
			}
			i += n
			ends[i] = true
		}
		for cut := range len(b) + 1 {
			r := Reader{held: b[:cut]}
			if n := r.pass(); !ends[n] {
				t.Fatalf("%q cut at %d is passed on up to %d, in the middle of a unit", b, cut, n)
			}
		}
	})
}
