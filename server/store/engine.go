package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// engineDir is the engine's part of the folder in the first generation.
const engineDir = "log"

// stagedDir is where the engine keeps an act of several records until all of them
// are in the log, beside the messages of the stream.
const stagedDir = "batches"

const (
	// maxRecord bounds one record in bytes: an item of 1 MiB, the remembered
	// answer that repeats it (base64) and the events.
	maxRecord = 8 << 20
	// engineWait bounds the start, the stop and each answer of the engine.
	engineWait = 10 * time.Second
	// mostStored is more bytes than any disk has. Without a bound of ours the engine
	// takes three quarters of what is free at its start, and no more when more
	// becomes free.
	mostStored = 1 << 60
)

// The engine's error codes that decide what a writer does next.
const (
	codeWrongLast         = 10071 // somebody was first
	codeWrongLastConstant = 10164 // the same, found inside of a batch or while one is under way
	codeManyBatches       = 10210 // 50 batches are under way
)

// engine is the embedded server with the one connection to it. Nothing listens
// on the network: the connection is a pipe in this process.
//
// An engine that failed to write once never writes again; it is broken, and the
// way out is a new one on the same folder.
type engine struct {
	dir    string
	srv    *server.Server
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	disk   durable

	writings *writings
	line     *line
	unfollow func() // ends the follower and waits for its last act

	trip   func()          // says that the engine is broken; may be called again
	broken <-chan struct{} // closed by trip
	life   context.Context // ends with trip
}

// startEngine starts the server on its folder. With sync every message is on
// the disk before it is acknowledged.
func startEngine(dir string, sync bool, log *slog.Logger) (*engine, error) {
	srv, err := server.NewServer(&server.Options{
		ServerName:             "signalbox",
		DontListen:             true,
		JetStream:              true,
		StoreDir:               dir,
		JetStreamMaxStore:      mostStored,
		SyncAlways:             sync,
		MaxPayload:             maxRecord,
		NoSigs:                 true,
		DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the engine: %w", err)
	}
	e := &engine{dir: dir, srv: srv, line: newLine(), unfollow: func() {}}
	e.life, e.trip = context.WithCancel(context.Background())
	e.broken = e.life.Done()
	srv.SetLoggerV2(engineLog{log, e.trip}, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(engineWait) {
		_ = e.stop()
		return nil, fmt.Errorf("the engine did not start within %s; its log says why", engineWait)
	}
	if err := e.connect(log); err != nil {
		return nil, errors.Join(err, e.stop())
	}
	return e, nil
}

func (e *engine) connect(log *slog.Logger) error {
	nc, err := nats.Connect("", nats.InProcessServer(e.srv), nats.Name("signalbox"),
		nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("log engine connection", "error", err)
		}))
	if err != nil {
		return fmt.Errorf("connect to the engine: %w", err)
	}
	e.nc = nc
	e.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(engineWait))
	if err != nil {
		return fmt.Errorf("connect to the engine: %w", err)
	}
	if e.writings, err = newWritings(nc); err != nil {
		return fmt.Errorf("connect to the engine: %w", err)
	}
	// Answers that were on their way are lost.
	nc.SetReconnectHandler(func(*nats.Conn) {
		e.writings.ask()
		e.line.cut(cutPatience)
	})
	return nil
}

// openStream opens the one stream, or creates it so that its first message gets
// the sequence first.
func (e *engine) openStream(ctx context.Context, first uint64) error {
	s, err := e.js.Stream(ctx, streamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = e.createStream(ctx, first)
	}
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	e.stream = s
	if engineSyncs {
		return nil // and holds no file of the engine open
	}
	return e.disk.start(e.dir)
}

func (e *engine) createStream(ctx context.Context, first uint64) (jetstream.Stream, error) {
	if first == 1 {
		first = 0 // the engine's way to say so
	}
	return e.js.CreateStream(ctx, jetstream.StreamConfig{
		Name:        streamName,
		Subjects:    []string{subjectRoot + ">"},
		Storage:     jetstream.FileStorage,
		Compression: jetstream.S2Compression,
		Replicas:    1,
		// Nothing is ever removed in place: a missing message is damage.
		Discard:            jetstream.DiscardNew,
		DenyDelete:         true,
		DenyPurge:          true,
		AllowDirect:        true,
		AllowAtomicPublish: true,
		FirstSeq:           first,
		// Nobody writes with message ids; a long window would only cost at start.
		Duplicates: time.Second,
	})
}

// hasStream reports whether the engine recovered a stream from its files.
func (e *engine) hasStream(ctx context.Context) (bool, error) {
	_, err := e.js.Stream(ctx, streamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open the log: %w", err)
	}
	return true, nil
}

// bound gives a context that also ends when the engine breaks.
func (e *engine) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(e.life, cancel)
	return ctx, func() { forget(); cancel() }
}

func (e *engine) isBroken() bool { return e.life.Err() != nil }

// stop ends the engine; it may be called again.
func (e *engine) stop() error {
	e.trip()
	if e.nc != nil {
		e.nc.Close()
	}
	e.srv.Shutdown()
	e.srv.WaitForShutdown()
	e.disk.close()
	return nil
}

// writeError turns the engine's refusal into what the caller decides by.
func writeError(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case codeWrongLast, codeWrongLastConstant:
			return ErrConflict
		}
		return fmt.Errorf("%w: %s", ErrUnavailable, api.Description)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, maxRecord)
	}
	// A timeout included: whether the record was written is not known. A retry
	// decides on the log as it then is.
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func isTooManyBatches(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeManyBatches
}

// engineLog hands the engine's messages to slog. Its notices are its own
// affairs and only of use when looking into it.
//
// It answers a write that it could not do with silence; what it says to its log
// is the only sign of it.
type engineLog struct {
	log  *slog.Logger
	trip func()
}

const engineText = "log engine"

// brokenSigns are what the engine says when it writes no more.
var brokenSigns = []string{"Critical write error", "failed to store a msg", "out of resources", "will be DISABLED"}

func (l engineLog) Noticef(f string, v ...any) {
	l.log.Debug(engineText, "text", fmt.Sprintf(f, v...))
}
func (l engineLog) Warnf(f string, v ...any) { l.log.Warn(engineText, "text", fmt.Sprintf(f, v...)) }
func (l engineLog) Errorf(f string, v ...any) {
	text := fmt.Sprintf(f, v...)
	l.log.Error(engineText, "text", text)
	for _, sign := range brokenSigns {
		if strings.Contains(text, sign) {
			l.trip()
		}
	}
}

func (l engineLog) Fatalf(f string, v ...any) { l.log.Error(engineText, "text", fmt.Sprintf(f, v...)) }
func (l engineLog) Debugf(string, ...any)     {}
func (l engineLog) Tracef(string, ...any)     {}
