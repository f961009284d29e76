package acmp

import (
	"fmt"
	"strings"
	"testing"
)

// D-08, B84: each word of an invoke is bounded, for it is kept with the outcome.
func TestWordsAreBounded(t *testing.T) {
	for _, name := range []string{"task_id", "capability", "output_type", "preferred_tier", "escrow_id", "proof_method", "offer_id", "input.type"} {
		for n, bad := range map[int]bool{MaxIDBytes: false, MaxIDBytes + 1: true} {
			word := strings.Repeat("x", n)
			members := map[string]string{"task_id": "t", "capability": "c", "input": `{"type":"text","data":"x"}`}
			if name == "input.type" {
				members["input"] = `{"type":"` + word + `","data":"x"}`
			} else {
				members[name] = word
			}
			var all []string
			for k, v := range members {
				if k != "input" {
					v = `"` + v + `"`
				}
				all = append(all, fmt.Sprintf("%q:%s", k, v))
			}
			_, e := DecodeInvoke([]byte("{" + strings.Join(all, ",") + "}"))
			switch {
			case (e != nil) != bad:
				t.Errorf("%s of %d bytes: %v", name, n, e)
			case bad && (e.Code != CodeInvalidParams || e.Data["detail"] != name+" is longer than 1024 bytes"):
				t.Errorf("%s: %v %v", name, e, e.Data)
			}
		}
	}
}
