package acmp

import (
	"bufio"
	"io"
	"log/slog"
	"os"

	"signalbox/model/acmp"
)

// outFile is the transcript, the output of one task on disk. It is used by the goroutine that
// delivers the task's events.
type outFile struct {
	path string
	log  *slog.Logger

	out     *os.File
	w       *bufio.Writer
	join    acmp.Joiner
	buf     []byte // of one chunk
	size    int64  // of out
	failed  bool
	restart bool // the next chunk starts the output anew
}

// event adds what belongs to the transcript. Chunks of a broken stream stay
// until the first chunk of the next one replaces them.
func (t *outFile) event(ev *acmp.TaskEvent) {
	switch ev.Kind {
	case acmp.EventResent:
		t.restart = true
	case acmp.EventChunk:
		t.append(ev.Chunk)
	case acmp.EventResult:
		if ev.Result.Output != nil {
			t.restart = true
			t.append(*ev.Result.Output)
		}
	}
	if ev.Kind.Final() && t.w != nil && !t.failed {
		_, err := t.w.Write(t.join.Flush(nil))
		t.note(err)
	}
}

func (t *outFile) append(p acmp.Payload) {
	if t.failed {
		return
	}
	err := t.open()
	if err == nil && t.restart {
		t.restart = false
		t.w.Reset(t.out)
		if err = t.out.Truncate(0); err == nil {
			_, err = t.out.Seek(0, io.SeekStart)
		}
		t.join, t.size = acmp.Joiner{}, 0
	}
	if err == nil {
		t.buf = t.join.Append(t.buf[:0], p)
		t.size += int64(len(t.buf))
		_, err = t.w.Write(t.buf)
	}
	if err == nil && acmp.IsJSON(p.Type) {
		err = t.w.WriteByte('\n')
	}
	t.note(err)
}

func (t *outFile) open() error {
	if t.out != nil {
		return nil
	}
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	t.out, t.w, t.restart = f, bufio.NewWriterSize(f, 64<<10), true
	return nil
}

// note gives up the transcript on an error of the disk; the task goes on.
func (t *outFile) note(err error) {
	if err != nil && !t.failed {
		t.failed = true
		t.log.Warn("transcript of a task given up", "cause", err)
	}
}

func (t *outFile) flush() {
	if t.w != nil && !t.failed {
		t.note(t.w.Flush())
	}
}

// sync has the system write down what was flushed.
func (t *outFile) sync() {
	if t.out != nil && !t.failed {
		t.note(t.out.Sync())
	}
}

func (t *outFile) close() {
	t.flush()
	if t.out != nil {
		t.out.Close()
	}
}
