package acmp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
)

// readLine reads one line without limit on the reader's buffer. Of a line above
// limit the rest is skipped.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long && len(line)+len(part) > limit {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long && err == nil {
			return nil, errLongLine
		}
		return line, err
	}
}

// normalID makes equal ids equal strings: "1" and 1 differ (B40).
func normalID(raw json.RawMessage) string {
	var str string
	if json.Unmarshal(raw, &str) == nil {
		return "s" + str
	}
	return "n" + string(bytes.TrimSpace(raw))
}
