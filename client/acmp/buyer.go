package acmp

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"signalbox/model/acmp"
)

// Options configure a [Buyer]. The zero value of each member but Providers is
// useful.
type Options struct {
	Providers []ProviderSpec
	// StateDir holds transcripts, journal and ledger; "" keeps nothing on disk.
	StateDir string
	// Name names this program and process to others with the same StateDir; it stands
	// beside the outcomes of its tasks. Told notes there that who started the program
	// is shown how each task ends, so that nobody else need be asked.
	Name string
	Told bool
	// Transcripts bounds what is kept there of ended tasks.
	Transcripts Bounds
	// Events takes what happens to the tasks: in order for each task, from one
	// goroutine per task. Where it blocks, the stream of that task stalls.
	Events func(acmp.TaskEvent)
	// ProviderSeen takes each change of what is known of a provider.
	ProviderSeen func(acmp.Provider)
	// Left hears of each unfinished task of an earlier run that is not taken up, and
	// why: one after the other, from a goroutine of its own, for which Close waits. nil:
	// only the log does.
	Left func(taskID, why string)
	Log  *slog.Logger
	// Version of this program, for clientInfo.
	Version string

	// ConnectTimeout bounds connecting and server/discover; 0 means 10 s.
	ConnectTimeout time.Duration
	// ProbeEvery is the time between two looks at a provider; 0 means 10 s.
	ProbeEvery time.Duration
	// CancelWait is how long a cancelled task may take to answer -33004 before
	// the stream is closed (D-07); 0 means 5 s.
	CancelWait time.Duration
	// MaxMessage is the largest message taken from a provider, in bytes; 0 means
	// [DefaultMaxMessage].
	MaxMessage int
	// KeepSilent leaves a task whose provider fell silent to the lead, instead of
	// failing it when the liveness window has passed (A-132 is a MAY).
	KeepSilent bool
	// NoReattach leaves the unfinished tasks of earlier runs alone.
	NoReattach bool
	// Watchdog is the argv of a program that reads "+PID" and "-PID" lines from its
	// stdin and kills the process groups that are left when it ends. It keeps
	// providers on stdio from outliving this program when it is killed. Empty means
	// none.
	Watchdog []string

	// dial replaces the network, for tests.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// env is what all parts of one buyer share.
type env struct {
	Options
	ctx  context.Context // ends with Close
	last context.Context // ends when Close may wait no longer: for what must still go out
	dog  *watchdog
}

// Buyer invokes capabilities of the configured providers. See the package
// documentation for its concurrency.
type Buyer struct {
	env    *env
	cancel context.CancelFunc // of env.ctx
	kill   context.CancelFunc // of env.last
	links  map[string]*link
	disk   *disk

	// Goroutines are added to runners under mu while closed is false, or by one of them.
	watchers, runners sync.WaitGroup

	mu     sync.Mutex
	closed bool
	tasks  map[string]*task
	ended  map[string]bool
	order  []string // of ended, oldest first
}

// maxEnded bounds how many ended tasks are remembered by id.
const maxEnded = 4096

// New starts a buyer: it begins to reach its providers and re-attaches the
// unfinished tasks found in StateDir. The caller must Close it.
func New(o Options) (*Buyer, error) {
	setDefaults(&o)
	b := &Buyer{links: map[string]*link{}, tasks: map[string]*task{}, ended: map[string]bool{}}
	b.env = &env{Options: o, dog: newWatchdog(o.Watchdog, o.Log)}
	// The root of all that the buyer does; whoever made it ends it with Close.
	b.env.last, b.kill = context.WithCancel(context.Background())
	b.env.ctx, b.cancel = context.WithCancel(b.env.last)
	if err := b.open(); err != nil {
		b.kill()
		return nil, err
	}
	for _, l := range b.links {
		b.watchers.Go(func() { l.watch(b.env.ctx) })
	}
	if !o.NoReattach {
		b.reattach()
	}
	return b, nil
}

// open makes what can be wrong.
func (b *Buyer) open() (err error) {
	for _, s := range b.env.Providers {
		if err := s.check(); err != nil {
			return err
		}
		if b.links[s.Name] != nil {
			return fmt.Errorf("provider %s is given twice", s.Name)
		}
		if b.links[s.Name], err = newLink(s, b.env); err != nil {
			return err
		}
	}
	b.disk, err = openDisk(b.env.StateDir, b.env.Transcripts, b.env.Log)
	if b.disk != nil {
		b.disk.by, b.disk.told = b.env.Name, b.env.Told
	}
	return err
}

func setDefaults(o *Options) {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.ConnectTimeout, 10*time.Second)
	def(&o.ProbeEvery, 10*time.Second)
	def(&o.CancelWait, 5*time.Second)
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Version == "" {
		o.Version = "dev"
	}
}

// NewTaskID makes a task_id of 128 random bits.
func NewTaskID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return "task_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// Settings gives what provider advertises, connecting if needed. Errors are a
// [*Refusal].
func (b *Buyer) Settings(ctx context.Context, provider string) (*acmp.Settings, error) {
	l := b.links[provider]
	if l == nil {
		return nil, refuse(acmp.CodeInvalidParams, "there is no provider named %q here", provider)
	}
	s, set, err := l.acquire(ctx)
	if err != nil {
		return nil, asRefusal(l, err)
	}
	l.release(s)
	return set, nil
}

func asRefusal(l *link, err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return unreachable("provider %s cannot be reached at %s: %s", l.spec.Name, l.spec.Endpoint(), plainError(err))
}

// Invoke checks the invocation against what the provider advertises, writes it
// to the journal and starts the task. An empty task_id is filled in. Reaching the
// provider may take no longer than the task itself. Errors are a [*Refusal] or of
// the disk; nothing was sent then.
func (b *Buyer) Invoke(ctx context.Context, inv acmp.Invocation) (string, error) {
	if err := checkTimeout(&inv.Params); err != nil {
		return "", err
	}
	reach, cancel := context.WithTimeout(ctx, timeoutOf(&inv.Params))
	defer cancel()
	set, err := b.Settings(reach, inv.Provider)
	switch {
	case err != nil && b.links[inv.Provider] != nil && reach.Err() != nil && ctx.Err() == nil:
		return "", unreachable("provider %s cannot be reached at %s within %s",
			inv.Provider, b.links[inv.Provider].spec.Endpoint(), timeoutOf(&inv.Params))
	case err != nil:
		return "", err
	}
	if inv.Params.TaskID == "" {
		inv.Params.TaskID = NewTaskID()
	}
	if err := checkInvocation(&inv.Params, set); err != nil {
		return "", err
	}
	t := newTask(b, b.links[inv.Provider], inv)
	if err := b.enter(t); err != nil {
		return "", err
	}
	defer b.runners.Done()
	if t.file, err = b.disk.journal(t.record()); err != nil {
		b.leave(t)
		return "", fmt.Errorf("write the journal before sending: %w", err)
	}
	b.start(t)
	return t.id, nil
}

// enter makes t known and holds up Close until the caller has called runners.Done.
func (b *Buyer) enter(t *task) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return refuse(acmp.CodeInternal, "the program is ending")
	case b.tasks[t.id] != nil || b.ended[t.id]:
		return refuse(acmp.CodeInvalidParams, "task_id %q is in use already", t.id)
	}
	b.tasks[t.id] = t
	b.runners.Add(1)
	return nil
}

// leave makes t unknown again: nothing of it was sent.
func (b *Buyer) leave(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tasks, t.id)
}

func (b *Buyer) start(t *task) {
	ctx, cancel := context.WithCancel(b.env.ctx)
	b.runners.Go(func() {
		defer cancel()
		newRunner(t).run(b.env.ctx)
	})
	if t.in != nil {
		b.runners.Go(func() { t.feed(ctx) })
	}
	b.runners.Go(func() { b.deliver(t) })
}

// deliver hands the events of t to the consumer and to the disk.
func (b *Buyer) deliver(t *task) {
	defer b.forget(t)
	var evs []acmp.TaskEvent
	for {
		var ok bool
		evs, ok = t.q.take(evs)
		if !ok {
			t.in.end(false)
			t.file.close()
			return
		}
		for i := range evs {
			t.file.event(&evs[i])
		}
		t.file.flush() // whoever learns of output finds it in the transcript
		for _, ev := range evs {
			if b.env.Events != nil {
				b.env.Events(ev)
			}
			if ev.Kind.Final() {
				b.disk.account(t.inv, ev)
				t.in.end(true)
				t.file.finished()
			}
		}
	}
}

func (b *Buyer) forget(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tasks, t.id)
	if b.ended[t.id] {
		return
	}
	b.ended[t.id] = true
	b.order = append(b.order, t.id)
	if len(b.order) > maxEnded {
		delete(b.ended, b.order[0])
		b.order = b.order[1:]
	}
}

func (b *Buyer) find(taskID string) (*task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[taskID]
	switch {
	case t == nil && b.ended[taskID]:
		return nil, ErrEnded
	case t == nil:
		return nil, ErrUnknownTask
	case t.isEnded():
		return nil, ErrEnded
	}
	return t, nil
}

// Cancel asks the provider to stop the task (acmp/cancel) and returns at once;
// what comes of it is told by events. Asking again sends it again.
func (b *Buyer) Cancel(_ context.Context, taskID, reason string) error {
	t, err := b.find(taskID)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", taskID, err)
	}
	select {
	case t.cancelC <- reason:
	default: // one is waiting to be carried out
	}
	return nil
}

// Resend gives up the present stream of the task and sends the same invoke with
// the same task_id again (7.1). The deadline does not move.
func (b *Buyer) Resend(_ context.Context, taskID string) error {
	t, err := b.find(taskID)
	if err != nil {
		return fmt.Errorf("re-send %s: %w", taskID, err)
	}
	token(t.resendC)
	return nil
}

// Input sends one chunk of the input of a task that streams it, of this or of an
// earlier run; final ends the input. It returns when the provider has taken the
// chunk. [ErrUnconfirmed] says that ctx ended before: the chunk is sent again by
// itself, and must not be given again. After any other error it was not taken.
func (b *Buyer) Input(ctx context.Context, taskID string, chunk acmp.Payload, final bool) error {
	t, err := b.find(taskID)
	if err != nil {
		return fmt.Errorf("input for %s: %w", taskID, err)
	}
	return t.input(ctx, chunk, final)
}

// Transcript opens the output of a task of this or an earlier run. It holds what
// had come when it was opened; text as it is, binary data decoded, each JSON
// value on a line.
func (b *Buyer) Transcript(_ context.Context, taskID string) (io.ReadCloser, error) {
	return b.disk.transcript(taskID)
}
