package acmp

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"signalbox/model/acmp"
)

// link is one configured provider: it connects when needed, looks regularly
// whether the provider is there, and hands sessions to the tasks.
type link struct {
	spec ProviderSpec
	o    *env
	http *http.Client // nil on stdio

	dial chan struct{} // holds the one token of who connects

	mu   sync.Mutex
	sess *session
	seen acmp.Provider
	bad  string // why tasks cannot be sent although the server answers
	shut bool   // the buyer has closed: no new session

	closing sync.WaitGroup // sessions that are being closed; added to under mu, before shut
}

func newLink(s ProviderSpec, o *env) (*link, error) {
	l := &link{spec: s, o: o, dial: make(chan struct{}, 1), seen: acmp.Provider{Name: s.Name, Endpoint: s.Endpoint()}}
	if len(s.Command) == 0 {
		var err error
		if l.http, err = newHTTPClient(s, o); err != nil {
			return nil, err
		}
	}
	return l, nil
}

var errClosed = &transportError{errors.New("the buyer has been closed")}

// acquire gives a session whose server speaks ACMP. The caller must release it.
// Errors are a *Refusal (no use to try again) or of the network.
func (l *link) acquire(ctx context.Context) (*session, *acmp.Settings, error) {
	if s, set, err := l.current(); s != nil || err != nil {
		return s, set, err
	}
	if err := l.connect(ctx, false); err != nil {
		return nil, nil, err
	}
	s, set, err := l.current()
	if s == nil && err == nil {
		err = &transportError{errors.New("the connection was lost at once")}
	}
	return s, set, err
}

func (l *link) current() (*session, *acmp.Settings, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sess == nil {
		return nil, nil, nil
	}
	select {
	case <-l.sess.dead():
		return nil, nil, nil
	default:
	}
	if l.bad != "" {
		return nil, nil, unreachable("%s: %s", l.spec.Name, l.bad)
	}
	l.sess.refs++
	return l.sess, l.seen.Settings, nil
}

func (l *link) release(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.refs--
	if s.retired && s.refs == 0 {
		l.discard(s)
	}
}

// discard closes s, which nobody uses, without waiting for it. mu is held.
func (l *link) discard(s *session) {
	end := func() { s.close(l.o.last.Done()) }
	if l.shut { // close waits for no more
		go end()
		return
	}
	l.closing.Go(end)
}

// retire takes s out of use; it is closed when no task uses it any more.
func (l *link) retire(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s == nil || s.retired {
		return
	}
	s.retired = true
	if l.sess == s {
		l.sess = nil
	}
	if s.refs == 0 {
		l.discard(s)
	}
}

// connect asks the provider what it is. Without fresh an existing session is
// enough; with fresh an HTTP provider is asked anew, its session kept.
func (l *link) connect(ctx context.Context, fresh bool) error {
	select {
	case l.dial <- struct{}{}:
		defer func() { <-l.dial }()
	case <-ctx.Done():
		return &transportError{ctx.Err()}
	}
	l.mu.Lock()
	old, shut := l.sess, l.shut
	l.mu.Unlock()
	if shut {
		return errClosed
	}
	if old != nil {
		select {
		case <-old.dead():
			l.retire(old)
			old = nil
		default:
			if !fresh || l.http == nil {
				return nil
			}
		}
	}
	dialCtx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	s, err := openSession(dialCtx, l.spec, l.http, l.o)
	switch {
	case err != nil && ctx.Err() != nil:
		return &transportError{ctx.Err()} // the caller gave up; that says nothing
	case err != nil:
		return l.failed(err)
	}
	l.mu.Lock()
	if l.shut {
		l.mu.Unlock()
		s.close(l.o.last.Done())
		return errClosed
	}
	settings, bad := settingsOf(s.init)
	if err := settings.Usable(); settings != nil && err != nil {
		bad = quoteStray([]byte(err.Error()), l.spec.Token)
	}
	id := ""
	if info := s.init.ServerInfo; info != nil && strings.HasPrefix(info.Name, "agent:") {
		id = info.Name
	}
	// All at once: whoever finds the session finds what its server offers.
	l.bad = bad
	if old == nil {
		l.sess = s
	} else {
		l.discard(s)
	}
	tell := l.note(true, bad, settings, l.spec.Token.hide(id))
	l.mu.Unlock()
	tell()
	return nil
}

// failed reports err and gives it as what a task needs to know.
func (l *link) failed(err error) error {
	msg := l.spec.Token.hide(plainError(err))
	l.report(false, msg, nil, "")
	var se *statusError
	if errors.As(err, &se) && !se.transient() {
		return unreachable("%s: %s", l.spec.Name, msg)
	}
	return &transportError{errors.New(msg)}
}

// report notes what was seen and tells it where it changed.
func (l *link) report(reachable bool, problem string, s *acmp.Settings, id string) {
	l.mu.Lock()
	tell := l.note(reachable, l.spec.Token.hide(problem), s, id)
	l.mu.Unlock()
	tell()
}

// note is report under mu; what it gives is to be called without it.
func (l *link) note(reachable bool, problem string, s *acmp.Settings, id string) (tell func()) {
	old := l.seen
	now := old
	now.Reachable, now.Problem = &reachable, problem
	if old.Reachable == nil || *old.Reachable != reachable {
		now.Since = time.Now()
	}
	if reachable {
		now.Settings, now.ProviderID = s, id
	}
	l.seen = now
	changed := old.Reachable == nil || *old.Reachable != reachable || old.Problem != problem ||
		old.ProviderID != now.ProviderID || !reflect.DeepEqual(old.Settings, now.Settings)
	if !changed || l.o.ProviderSeen == nil {
		return func() {}
	}
	return func() { l.o.ProviderSeen(now) }
}

// lost reports the end of the child of s, unless another has taken its place. Like all
// that is reported it waits for its turn, so that the newest is told last.
func (l *link) lost(ctx context.Context, s *session) {
	select {
	case l.dial <- struct{}{}:
		defer func() { <-l.dial }()
	case <-ctx.Done():
		return
	}
	l.mu.Lock()
	replaced := l.sess != nil && l.sess != s
	l.mu.Unlock()
	if !replaced {
		l.report(false, s.conn.proc.why(), nil, "")
	}
}

// steadyLife is how long a child must live for its death to be no pattern.
const steadyLife = 10 * time.Second

// watch keeps reachability known until ctx ends.
func (l *link) watch(ctx context.Context) {
	l.mu.Lock()
	first := l.seen
	l.mu.Unlock()
	if l.o.ProviderSeen != nil {
		l.o.ProviderSeen(first)
	}
	wait := backoff{first: 500 * time.Millisecond, most: 15 * time.Second}
	for {
		next := l.o.ProbeEvery
		if err := l.connect(ctx, true); err != nil {
			next = wait.next()
		} else if l.http != nil {
			wait.reset()
		}
		since := time.Now()
		l.mu.Lock()
		var dead <-chan struct{}
		sess := l.sess
		if sess != nil {
			dead = sess.dead()
		}
		l.mu.Unlock()
		t := time.NewTimer(next)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-dead:
			t.Stop()
			if time.Since(since) > steadyLife {
				wait.reset()
			}
			l.lost(ctx, sess)
			if !sleep(ctx, wait.next()) {
				return
			}
		case <-t.C:
		}
	}
}

func (l *link) close() {
	l.mu.Lock()
	s := l.sess
	l.sess, l.shut = nil, true
	l.mu.Unlock()
	if s != nil {
		s.close(l.o.last.Done())
	}
	l.closing.Wait()
	if l.http != nil {
		l.http.CloseIdleConnections()
	}
}

// backoff gives growing waits.
type backoff struct {
	first, most time.Duration
	cur         time.Duration
}

func (b *backoff) next() time.Duration {
	b.cur = min(max(2*b.cur, b.first), b.most)
	return b.cur
}

func (b *backoff) reset() { b.cur = 0 }

// sleep waits d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// sleepUnless waits at most d and reports whether c was closed meanwhile.
func sleepUnless(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}
