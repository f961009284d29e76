package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"signalbox/model/acop"
)

// A log that was never compacted is generation 1. Each compaction writes the
// next one into a folder of its own and then lets generationName point at it:
// that one rename is the swap.
//
// A generation after the first looks like this; its history keeps the revisions
// that it had, so that nobody's cursor or If-Match is spoiled by a compaction:
//
//	first                          tail                      last
//	  | preface | kept ... kept      | history, as it was ...  |
//
// The preface says what this generation is. The kept records are the present
// state that is older than the history, packed without gaps up to tail; each
// carries the revision it is known by.
const (
	generationName    = "generation"
	generationSubject = subjectRoot + "generation"
)

// generation says which folder holds the log and where it begins.
type generation struct {
	Number int    `json:"generation"`
	First  uint64 `json:"first"` // first place in the stream; 0 = not known
	Tail   uint64 `json:"tail"`  // first revision of the history; 0 = not known
}

// preface is the first record of a generation after the first.
type preface struct {
	generation
	AtUTC acop.Time `json:"at_utc"`
	// Bridge are the links of the history that lead to before it, each
	// "<revision> <sum>".
	Bridge []string `json:"bridge"`
}

// folder is the engine's part of the owner's folder.
func (g generation) folder() string {
	if g.Number <= 1 {
		return engineDir
	}
	return engineDir + "-" + strconv.Itoa(g.Number)
}

// generations lists the numbers of the folders that are there, ascending.
func generations(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder of the log: %w", err)
	}
	var out []int
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		rest, ok := strings.CutPrefix(e.Name(), engineDir)
		if ok && rest == "" {
			out = append(out, 1)
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(rest, "-"))
		if ok && err == nil && e.Name() == (generation{Number: n}).folder() {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// readGeneration finds the generation that counts. Without the file it is the
// oldest one: a compaction that was cut short leaves a newer one behind, and one
// that was finished an older one only while the file is there. bad says that the
// file does not say which of several folders counts.
func readGeneration(dir string) (g generation, bad string, err error) {
	there, err := generations(dir)
	if err != nil {
		return generation{}, "", err
	}
	oldest := generation{Number: 1}
	if len(there) > 0 {
		oldest.Number = there[0]
	}
	b, err := os.ReadFile(filepath.Join(dir, generationName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return oldest, "", nil
	case err != nil:
		return generation{}, "", fmt.Errorf("read which generation of the log counts: %w", err)
	}
	if g, ok := parseGeneration(b); ok {
		return g, "", nil
	}
	if len(there) == 1 {
		return oldest, "", nil // there is no choice; the preface tells the rest
	}
	return oldest, "the file that says which generation of the log counts is damaged", nil
}

func formatGeneration(g generation) ([]byte, error) {
	b, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("encode the generation: %w", err)
	}
	return fmt.Appendf(b, "\n%08x\n", crc32.ChecksumIEEE(b)), nil
}

func parseGeneration(b []byte) (generation, bool) {
	line, _, ok := strings.Cut(string(b), "\n")
	var g generation
	if !ok || json.Unmarshal([]byte(line), &g) != nil || g.Number < 1 {
		return generation{}, false
	}
	again, err := formatGeneration(g)
	return g, err == nil && string(again) == string(b)
}

// clearOthers removes what compactions left behind: an older generation that
// was swapped out, or a newer one that was never finished.
func (s *Store) clearOthers() error {
	there, err := generations(s.dir)
	if err != nil {
		return err
	}
	for _, n := range there {
		if n == s.gen.Number {
			continue
		}
		other := generation{Number: n}.folder()
		if err := os.RemoveAll(filepath.Join(s.dir, other)); err != nil {
			return fmt.Errorf("remove what a compaction left behind: %w", err)
		}
		s.log.Info("removed what a compaction left behind", "folder", other)
	}
	return nil
}

// seqOf is the place in the stream of the record that is known by a revision,
// and whether the log still has it.
func (s *Store) seqOf(rev uint64) (uint64, bool) {
	if rev == 0 || rev >= s.tail {
		return rev, true
	}
	i, ok := slices.BinarySearch(s.kept, rev)
	return s.keptAt + uint64(i), ok
}
