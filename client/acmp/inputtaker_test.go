package acmp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"signalbox/model/acmp"
)

// inputTaker takes input chunks as a provider does: the first of a seq counts. Each
// answer may be spoilt by what it is told.
type inputTaker struct {
	*fakeProvider
	spoil func(w *answerWriter, c acmp.InputChunk, n int) bool // n counts the sends of a seq from 1

	mu    sync.Mutex
	first map[int64]acmp.InputChunk
	sends map[int64]int
	order []int64
}

// newInputTaker starts a provider that ends each task once its input is complete,
// and cuts its stream when told over cutC.
func newInputTaker(t *testing.T, cutC chan struct{}) *inputTaker {
	t.Helper()
	it := &inputTaker{first: map[int64]acmp.InputChunk{}, sends: map[int64]int{}}
	it.fakeProvider = newFakeProvider(t, 0, func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(0, "begun", false)
		for !it.complete() {
			select {
			case <-it.changed:
			case <-cutC:
				w.cut()
			case <-w.req.Ctx.Done():
				return
			case <-t.Context().Done():
				return
			}
		}
		w.chunk(1, "", true)
		w.streamed()
	})
	it.other = it.take
	return it
}

func (it *inputTaker) take(w *answerWriter, req wireRequest) bool {
	if req.Method != acmp.MethodInputChunk {
		return false
	}
	var c acmp.InputChunk
	if err := json.Unmarshal(req.Params, &c); err != nil {
		it.t.Errorf("chunk %s: %v", req.Params, err)
	}
	it.mu.Lock()
	it.sends[c.Seq]++
	n := it.sends[c.Seq]
	it.mu.Unlock()
	if it.spoil != nil && it.spoil(w, c, n) {
		return true
	}
	it.keep(c)
	w.WriteHeader(http.StatusAccepted)
	return true
}

func (it *inputTaker) keep(c acmp.InputChunk) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.order = append(it.order, c.Seq)
	if old, have := it.first[c.Seq]; have && string(old.Chunk.Data) != string(c.Chunk.Data) {
		it.t.Errorf("seq %d carried %s first and %s later", c.Seq, old.Chunk.Data, c.Chunk.Data)
	} else if !have {
		it.first[c.Seq] = c
	}
	token(it.changed)
}

// whole is the input joined, as far as it is there.
func (it *inputTaker) whole() string {
	it.mu.Lock()
	defer it.mu.Unlock()
	var b strings.Builder
	for seq := int64(0); ; seq++ {
		c, ok := it.first[seq]
		if !ok {
			return b.String()
		}
		b.Write(c.Chunk.Raw())
	}
}

// complete reports whether the final chunk and all before it are there.
func (it *inputTaker) complete() bool {
	it.mu.Lock()
	defer it.mu.Unlock()
	for seq := int64(0); ; seq++ {
		if c, ok := it.first[seq]; !ok || c.Final {
			return ok
		}
	}
}

func (it *inputTaker) got() []int64 {
	it.mu.Lock()
	defer it.mu.Unlock()
	return slices.Clone(it.order)
}
