package acmp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"signalbox/model/acmp"
)

// Handler does the work of one task. ctx ends when the task is cancelled, when
// its deadline passes or when its grace after a lost caller is over; cause with
// [context.Cause]. A returned *acmp.Error goes to the buyer as it is; any other
// error, and a panic, becomes -33099 with a generic text and is logged.
//
// A handler that sent chunks must end them with [Task.EmitFinal] and return a nil
// Output.Payload; one that sent none returns the whole output there.
type Handler func(ctx context.Context, t *Task) (Output, error)

// Output is what a handler returns.
type Output struct {
	// Payload is the whole output; nil where it went out as chunks.
	Payload *acmp.Payload
	// TokensUsed is reported as it is; 0 where tokens mean nothing.
	TokensUsed int64
}

// Capability is one thing a provider can do. Exactly one of Handler and Command
// is set.
type Capability struct {
	// Info is what the capability declaration says of it; Name is required.
	Info acmp.Capability
	// Handler serves the capability in this process.
	Handler Handler
	// Command serves it by running a program.
	Command *Command
	// MaxParallel bounds how many tasks run at once; 0 means no bound. Further
	// tasks wait, within their deadline.
	MaxParallel int
	// NoInputStream refuses input_stream for this capability with -33007.
	NoInputStream bool

	slots chan struct{} // of MaxParallel
}

// EscrowVerifier judges an escrow_id (A-073, D-18). A nil error accepts it.
type EscrowVerifier func(ctx context.Context, p *acmp.InvokeParams) error

// Limits bounds what a provider holds. Zero members take their defaults.
type Limits struct {
	MessageBytes    int           // one JSON-RPC message; 16 MiB
	TaskBytes       int           // output held of one task; 64 MiB
	TotalBytes      int           // outcomes held of finished tasks; 256 MiB
	RunningBytes    int           // output held of all running tasks, above which each keeps to 1 MiB; 256 MiB
	RunningTasks    int           // tasks running or waiting; 4096
	Outcomes        int           // outcomes held; 65536
	Tombstones      int           // ids remembered of outcomes no longer held; 262144
	OutcomeAge      time.Duration // how long an outcome is held; 24 h
	EarlyChunks     int           // input chunks held before their invoke, per principal; 64
	EarlyBytes      int           // the same in bytes; 1 MiB
	EarlyAge        time.Duration // how long early chunks and cancels are held; 10 s
	EarlyCancels    int           // early cancels held, per principal; 1024
	AcceptedOffers  int           // accepted offers held; 65536
	InputBytes      int           // input chunks not yet read by the handler, per task; 4 MiB
	HandlerStopTime time.Duration // how long Close waits for handlers; 5 s
}

// Options configure a [Provider].
type Options struct {
	// ProviderID is self-reported, of the form agent:name:region.
	ProviderID string
	// Version is that of the program, for MCP's serverInfo; "" is "dev".
	Version string
	// HeartbeatInterval is the nominal interval of heartbeats, whole
	// milliseconds; 0 means that none are advertised or sent.
	HeartbeatInterval time.Duration
	// Capabilities are what is served; at least one.
	Capabilities []Capability
	// Authenticate names the principal of a bearer token; nil serves everybody on
	// HTTP as one principal. Called from many goroutines.
	Authenticate func(token string) (principal string, ok bool)
	// AllowedOrigins are further values of Origin that may call over HTTP; the
	// endpoint's own is always allowed.
	AllowedOrigins []string
	// AllowedHosts are further values of Host (without port) that a loopback
	// endpoint answers to.
	AllowedHosts []string
	// Grace is how long a task lives without a caller; 0 means 30 s. The task's
	// own deadline still holds (D-01).
	Grace time.Duration
	// NoStreaming serves single JSON answers only: neither chunks nor heartbeats
	// are advertised or sent.
	NoStreaming bool
	// NoInputStreaming does not advertise input_streaming.
	NoInputStreaming bool
	// IgnoreStream answers stream:true with a whole result where streaming is not
	// advertised, instead of -33007.
	IgnoreStream bool
	// Lenient also serves requests without MCP's _meta and mirrored headers, as
	// peers built from ACMP's samples send them (D-06).
	Lenient bool
	// OfferValid is how long a quote of layer 6 holds at most; 0 serves no quotes, so
	// that acmp/offerRequest and acmp/accept are unknown methods.
	OfferValid time.Duration
	// Escrow judges escrow ids; nil accepts them as unverified, and says so in
	// the log (D-18).
	Escrow EscrowVerifier
	// RefuseEscrow refuses every escrow id, since nobody here can verify one; Escrow is
	// not asked then.
	RefuseEscrow bool
	// Data is a folder in which outcomes outlive this process (D-12), made if need be;
	// "" keeps them in memory only. One provider at a time can use it.
	Data string
	// Watchdog is the argv of a program that runs [Watchdog]: it ends the groups
	// of running commands should this process be killed. Empty means none.
	Watchdog []string
	// Limits bounds memory and time.
	Limits Limits
	// Log takes what a person may want to know; nil discards it.
	Log *slog.Logger
}

var providerIDForm = regexp.MustCompile(`^agent:[^:\s]+:[^:\s]+$`)

func validProviderID(s string) bool { return providerIDForm.MatchString(s) && validName(s) }

// maxNameBytes is far above what a person names a capability.
const maxNameBytes = 200

// nameForm says what validName asks for.
const nameForm = "is not a name: up to 200 bytes of printable characters, with no blank at either end"

// validName reports whether s can stand in every list and log line as it is.
func validName(s string) bool {
	return s != "" && len(s) <= maxNameBytes && utf8.ValidString(s) && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (o *Options) validate() error {
	if o.ProviderID != "" && !validProviderID(o.ProviderID) {
		return fmt.Errorf("provider id %q is not of the form agent:name:region", o.ProviderID)
	}
	if o.HeartbeatInterval < 0 || o.HeartbeatInterval%time.Millisecond != 0 {
		return fmt.Errorf("heartbeat interval %v is not a whole, positive number of milliseconds", o.HeartbeatInterval)
	}
	if o.Grace < 0 {
		return fmt.Errorf("grace time %v is negative", o.Grace)
	}
	if len(o.Capabilities) == 0 {
		return errors.New("no capability to serve: name at least one")
	}
	seen := map[string]bool{}
	o.Capabilities = slices.Clone(o.Capabilities)
	for i := range o.Capabilities {
		c := &o.Capabilities[i]
		if c.Command != nil { // the caller's own stays as it is
			cmd := *c.Command
			c.Command = &cmd
		}
		if err := c.validate(); err != nil {
			return err
		}
		if seen[c.Info.Name] {
			return fmt.Errorf("capability %q is named twice", c.Info.Name)
		}
		seen[c.Info.Name] = true
	}
	return nil
}

func (c *Capability) validate() error {
	if c.Info.Name == "" {
		return errors.New("a capability has no name")
	}
	if !validName(c.Info.Name) {
		return fmt.Errorf("capability name %q %s", c.Info.Name, nameForm)
	}
	if (c.Handler == nil) == (c.Command == nil) {
		return fmt.Errorf("capability %q needs either a handler or a command", c.Info.Name)
	}
	if c.MaxParallel < 0 {
		return fmt.Errorf("capability %q: max_parallel %d is negative", c.Info.Name, c.MaxParallel)
	}
	if c.Info.PriceCU != "" {
		if err := acmp.ValidCU(c.Info.PriceCU); err != nil {
			return fmt.Errorf("capability %q: price %s: %w", c.Info.Name, c.Info.PriceCU, err)
		}
	}
	if c.Command != nil {
		if err := c.Command.validate(); err != nil {
			return fmt.Errorf("capability %q: %w", c.Info.Name, err)
		}
	}
	return nil
}

func (l *Limits) setDefaults() {
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	defTime := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&l.MessageBytes, 16<<20)
	def(&l.TaskBytes, 64<<20)
	def(&l.TotalBytes, 256<<20)
	def(&l.RunningBytes, 256<<20)
	def(&l.RunningTasks, 4096)
	def(&l.Outcomes, 65536)
	def(&l.Tombstones, 262144)
	defTime(&l.OutcomeAge, 24*time.Hour)
	def(&l.EarlyChunks, 64)
	def(&l.EarlyBytes, 1<<20)
	defTime(&l.EarlyAge, 10*time.Second)
	def(&l.EarlyCancels, 1024)
	def(&l.AcceptedOffers, 65536)
	def(&l.InputBytes, 4<<20)
	defTime(&l.HandlerStopTime, 5*time.Second)
}
