package acmp

import (
	"testing"

	"signalbox/model/acmp"
)

// names match to the letter, and a price is a number.
func TestResultIsReadToTheLetter(t *testing.T) {
	p := acmp.InvokeParams{TaskID: "a"}
	const output = `"task_id":"a","output":{"type":"text","data":"x"},`
	res, msg := checkResult([]byte(`{`+output+`"tokens_used":3,"cost_cu":0.10,"Task_ID":"zz","COST_CU":"9","Output":5,"Tokens_Used":9}`), p, streamed{})
	if msg != "" || res.TaskID != "a" || res.CostCU != "0.10" || res.TokensUsed != 3 || string(res.Output.Data) != `"x"` {
		t.Errorf("%q: %+v", msg, res)
	}
	for _, members := range []string{`"tokens_used":3,"cost_cu":"0.01"`, `"tokens_used":3,"COST_CU":0.01`, `"Tokens_Used":3,"cost_cu":0.01`, `"tokens_used":3,"cost_cu":null`} {
		if res, msg := checkResult([]byte(`{`+output+members+`}`), p, streamed{}); msg == "" {
			t.Errorf("%s is taken: %+v", members, res)
		}
	}
}
