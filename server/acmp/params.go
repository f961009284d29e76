package acmp

import (
	"encoding/json"
	"time"

	"signalbox/model/acmp"
)

// maxTimeoutMS keeps a deadline within what the clock can add, in ms.
const maxTimeoutMS = int64(365 * 24 * time.Hour / time.Millisecond)

// parseInvoke reads the params of acmp/invoke and fills in the defaults.
func parseInvoke(raw json.RawMessage) (acmp.InvokeParams, *acmp.Error) {
	p, bad := acmp.DecodeInvoke(raw)
	if bad != nil {
		return acmp.InvokeParams{}, bad
	}
	p.OutputType = p.OutputTypeOrDefault()
	if p.TimeoutMS == 0 {
		p.TimeoutMS = acmp.DefaultTimeoutMS
	}
	p.TimeoutMS = min(p.TimeoutMS, maxTimeoutMS)
	if p.Input != nil {
		p.Input.Data = oneLine(p.Input.Data)
	}
	return *p, nil
}

func parseCancel(raw json.RawMessage) (acmp.Cancel, string) {
	var c acmp.Cancel
	if err := acmp.Decode(orEmpty(raw), &c); err != nil {
		return c, acmp.DecodeProblem(err)
	}
	c.Reason = clipText(c.Reason, maxDetailBytes)
	return c, taskIDProblem(c.TaskID)
}

func parseInputChunk(raw json.RawMessage) (acmp.InputChunk, string) {
	var c struct {
		acmp.InputChunk
		Seq *int64 `json:"seq"`
	}
	if err := acmp.Decode(orEmpty(raw), &c); err != nil {
		return c.InputChunk, acmp.DecodeProblem(err)
	}
	if problem := taskIDProblem(c.TaskID); problem != "" {
		return c.InputChunk, problem
	}
	switch {
	case c.Seq == nil || *c.Seq < 0:
		return c.InputChunk, "seq is missing or negative"
	case c.Chunk.Type == "":
		return c.InputChunk, "chunk.type is missing or empty"
	case len(c.Chunk.Data) == 0:
		return c.InputChunk, "chunk.data is missing"
	}
	c.InputChunk.Seq = *c.Seq
	c.Chunk.Data = oneLine(c.Chunk.Data)
	return c.InputChunk, ""
}

// taskIDProblem says why no invoke can have this id, or "".
func taskIDProblem(id string) string {
	switch {
	case id == "":
		return "task_id is missing or empty"
	case len(id) > acmp.MaxIDBytes:
		return "task_id is longer than 1024 bytes"
	}
	return ""
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
