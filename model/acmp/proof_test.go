package acmp

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A-091, D-19.
func TestCheckProof(t *testing.T) {
	out := Payload{"json", raw(`{"b": 1.0, "a": "grün 😀", "c": 1e-7, "d": [true, null]}`)}
	rfc, err := ResultHash(out)
	if err != nil {
		t.Fatal(err)
	}
	py, err := PythonHash(out)
	if err != nil {
		t.Fatal(err)
	}
	if rfc == py || !wellFormedHash(rfc) || !wellFormedHash(py) {
		t.Fatalf("%s, %s", rfc, py)
	}
	spaced, err := ResultHash(Payload{"json", raw(`{"a":"gr\u00fcn \ud83d\ude00","c":0.0000001,"b":1,"d":[true,null]}`)})
	if err != nil || spaced != rfc {
		t.Errorf("the same value has another hash: %s, %v", spaced, err)
	}
	for _, c := range []struct {
		name      string
		p         *Proof
		requested string
		out       Payload
		want      string
	}{
		{"none", nil, "", out, ProofNone},
		{"missing", nil, ProofResultHash, out, ProofDiffers},
		{"other method", &Proof{Method: "tee"}, ProofResultHash, out, ProofDiffers},
		{"unknown method", &Proof{Method: "tee"}, "tee", out, ProofUnchecked},
		{"matches", &Proof{ProofResultHash, rfc}, ProofResultHash, out, ProofMatches},
		{"unasked", &Proof{ProofResultHash, rfc}, "", out, ProofMatches},
		{"python", &Proof{ProofResultHash, py}, ProofResultHash, out, ProofMatchesPy},
		{"another output", &Proof{ProofResultHash, rfc}, ProofResultHash, Text("x"), ProofDiffers},
		{"no hash", &Proof{Method: ProofResultHash}, ProofResultHash, out, ProofDiffers},
		{"upper case", &Proof{ProofResultHash, strings.ToUpper(rfc)}, ProofResultHash, out, ProofDiffers},
		{"no canonical form", &Proof{ProofResultHash, rfc}, ProofResultHash, Payload{"json", raw(`1e999`)}, ProofUnchecked},
	} {
		if got := CheckProof(c.p, c.requested, c.out); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The forms that Python writes, as seen with CPython's json module.
func TestPythonForm(t *testing.T) {
	for in, want := range map[string]string{
		`1.0`: `1.0`, `1e16`: `1e+16`, `1e15`: `1000000000000000.0`, `0.0001`: `0.0001`, `0.00001`: `1e-05`, `1E-7`: `1e-07`,
		`123456789012345680000.0`: `1.2345678901234568e+20`, `-0.0`: `-0.0`, `-0`: `0`, `12345678901234567890123`: `12345678901234567890123`,
		`"\u007f\u00e9😀\u2028/<>&"`:      `"\u007f\u00e9\ud83d\ude00\u2028/<>&"`,
		`"\b\f\n\r\t\u0001\"\\"`:         `"\b\f\n\r\t\u0001\"\\"`,
		`{"b":1,"a":{"z":[],"y":{}}}`:    `{"a":{"y":{},"z":[]},"b":1}`,
		`{"é":1,"z":2,"😀":3,"\ue000":4}`: `{"z":2,"\u00e9":1,"\ue000":4,"\ud83d\ude00":3}`,
	} {
		d := json.NewDecoder(strings.NewReader(in))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		got, err := appendPython(nil, v, 0)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
}

// Against Python itself, where there is one.
func TestPythonFormAgainstPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	var in []string
	rapid.Check(t, func(t *rapid.T) {
		if len(in) < 200 {
			b, err := json.Marshal(map[string]any{
				rapid.String().Draw(t, "key"): rapid.Float64().Draw(t, "float"),
				"text":                        rapid.String().Draw(t, "text"),
			})
			if err != nil {
				t.Skip()
			}
			in = append(in, string(b))
		}
	})
	const script = "import json,sys\nfor l in sys.stdin:\n print(json.dumps(json.loads(l),sort_keys=True,separators=(',',':')))"
	cmd := exec.CommandContext(t.Context(), python, "-c", script)
	cmd.Stdin = strings.NewReader(strings.Join(in, "\n") + "\n")
	cmd.Env = []string{"PYTHONIOENCODING=utf-8", "PYTHONUTF8=1"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	for i, doc := range in {
		d := json.NewDecoder(strings.NewReader(doc))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if got, err := appendPython(nil, v, 0); err != nil || string(got) != want[i] {
			t.Errorf("%s: %s, %v; python says %s", doc, got, err, want[i])
		}
	}
}

func TestDeepOutputIsRefused(t *testing.T) {
	deep := Payload{"json", raw(strings.Repeat("[", 2000) + strings.Repeat("]", 2000))}
	if _, err := PythonHash(deep); err == nil {
		t.Error("hashed")
	}
}
