package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// engineDir is the engine's part of the folder in the first generation.
const engineDir = "log"

const (
	// maxRecord bounds one record in bytes: an item of 1 MiB, the remembered
	// answer that repeats it (base64) and the events.
	maxRecord = 8 << 20
	// engineWait bounds the start, the stop and each answer of the engine.
	engineWait = 10 * time.Second
)

// The engine's error codes that decide what a writer does next.
const (
	codeWrongLast         = 10071 // somebody was first
	codeWrongLastConstant = 10164 // the same, found inside of a batch or while one is under way
	codeManyBatches       = 10210 // 50 batches are under way
)

// engine is the embedded server with the one connection to it. Nothing listens
// on the network: the connection is a pipe in this process.
type engine struct {
	srv *server.Server
	nc  *nats.Conn
	js  jetstream.JetStream
}

// startEngine starts the server on its folder. With sync every message is on
// the disk before it is acknowledged.
func startEngine(dir string, sync bool, log *slog.Logger) (*engine, error) {
	srv, err := server.NewServer(&server.Options{
		ServerName:             "signalbox",
		DontListen:             true,
		JetStream:              true,
		StoreDir:               dir,
		SyncAlways:             sync,
		MaxPayload:             maxRecord,
		NoSigs:                 true,
		DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the engine: %w", err)
	}
	srv.SetLoggerV2(engineLog{log}, false, false, false)
	srv.Start()
	e := &engine{srv: srv}
	if !srv.ReadyForConnections(engineWait) {
		e.stop()
		return nil, fmt.Errorf("the engine did not start within %s; its log says why", engineWait)
	}
	if err := e.connect(log); err != nil {
		e.stop()
		return nil, err
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
	return nil
}

// openStream opens the one stream, or creates it so that its first message gets
// the sequence first.
func (e *engine) openStream(ctx context.Context, first uint64) (jetstream.Stream, error) {
	s, err := e.js.Stream(ctx, streamName)
	if err == nil {
		return s, nil
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	if first == 1 {
		first = 0 // the engine's way to say so
	}
	s, err = e.js.CreateStream(ctx, jetstream.StreamConfig{
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
	if err != nil {
		return nil, fmt.Errorf("create the log: %w", err)
	}
	return s, nil
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

func (e *engine) stop() {
	if e.nc != nil {
		e.nc.Close()
	}
	e.srv.Shutdown()
	e.srv.WaitForShutdown()
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
		return fmt.Errorf("the record is larger than %d bytes: %w", maxRecord, err)
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
type engineLog struct{ log *slog.Logger }

const engineText = "log engine"

func (l engineLog) Noticef(f string, v ...any) {
	l.log.Debug(engineText, "text", fmt.Sprintf(f, v...))
}
func (l engineLog) Warnf(f string, v ...any)  { l.log.Warn(engineText, "text", fmt.Sprintf(f, v...)) }
func (l engineLog) Errorf(f string, v ...any) { l.log.Error(engineText, "text", fmt.Sprintf(f, v...)) }
func (l engineLog) Fatalf(f string, v ...any) { l.log.Error(engineText, "text", fmt.Sprintf(f, v...)) }
func (l engineLog) Debugf(string, ...any)     {}
func (l engineLog) Tracef(string, ...any)     {}
