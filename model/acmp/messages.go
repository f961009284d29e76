package acmp

import "encoding/json"

// ExtensionID is the key of the capability declaration in the extensions map of
// server and client capabilities (section 1).
const ExtensionID = "org.a2agora/acmp"

// Version is the version of layer 1 this program speaks (section 6).
const Version = "0.1.0"

// The wire methods (section 2). acmp/result and acmp/error are names of the two
// kinds of response and never appear as a method.
const (
	MethodInvoke      = "acmp/invoke"
	MethodInputChunk  = "acmp/inputChunk"
	MethodStreamChunk = "acmp/streamChunk"
	MethodHeartbeat   = "acmp/heartbeat"
	MethodCancel      = "acmp/cancel"
)

// DefaultTimeoutMS is the deadline of a task that names none, in ms (3.1).
const DefaultTimeoutMS = 30000

// Payload is {type, data}: Type is an open, MIME-like word (text, json,
// image/png, ...), Data any JSON value, kept as it was written.
type Payload struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// InvokeParams are the params of acmp/invoke (3.1). Members that are not set
// are left out, never null.
type InvokeParams struct {
	TaskID         string       `json:"task_id"`
	Capability     string       `json:"capability"`
	Input          *Payload     `json:"input,omitempty"`
	OutputType     string       `json:"output_type,omitempty"` // "" means json
	InputTokensEst *int64       `json:"input_tokens_est,omitempty"`
	MaxPriceCU     *json.Number `json:"max_price_cu,omitempty"` // CU, decimal
	PreferredTier  string       `json:"preferred_tier,omitempty"`
	TimeoutMS      int64        `json:"timeout_ms,omitempty"` // ms; 0 means DefaultTimeoutMS
	Stream         bool         `json:"stream,omitempty"`
	InputStream    bool         `json:"input_stream,omitempty"`
	EscrowID       string       `json:"escrow_id,omitempty"`
	ProofMethod    string       `json:"proof_method,omitempty"`
	// OfferID names the accepted offer whose terms hold (layer 6). How an invoke
	// without escrow refers to one is open there; peers that do not know the
	// member ignore it.
	OfferID string `json:"offer_id,omitempty"`
}

// Result is the success of a task (3.2).
type Result struct {
	TaskID         string      `json:"task_id"`
	Output         *Payload    `json:"output,omitempty"`
	OutputStreamed bool        `json:"output_streamed"`
	TokensUsed     int64       `json:"tokens_used"`
	CostCU         json.Number `json:"cost_cu"` // CU, decimal, at most the ceiling
	Proof          *Proof      `json:"proof,omitempty"`
	ProviderID     string      `json:"provider_id,omitempty"`
	// ResultType is MCP's marker of a finished result (D-06); absent counts as
	// complete, any other value than complete is invalid.
	ResultType string `json:"resultType,omitempty"`
}

// Proof is evidence about an output, never a substitute for it (layer 3).
type Proof struct {
	Method string `json:"method"`
	Hash   string `json:"hash,omitempty"` // "sha256:" and 64 hex digits
}

// InputChunk carries a part of the input (3.4).
type InputChunk struct {
	TaskID string  `json:"task_id"`
	Seq    int64   `json:"seq"` // from 0, by one
	Chunk  Payload `json:"chunk"`
	Final  bool    `json:"final"`
}

// StreamChunk carries a part of the output (3.5).
type StreamChunk struct {
	TaskID string  `json:"task_id"`
	Seq    int64   `json:"seq"` // from 0, by one
	Chunk  Payload `json:"chunk"`
	Final  bool    `json:"final"`
}

// Heartbeat tells that a task is alive; it never moves the deadline (3.6).
type Heartbeat struct {
	TaskID   string   `json:"task_id"`
	Progress *float64 `json:"progress,omitempty"` // 0..1
	Detail   string   `json:"detail,omitempty"`
}

// Cancel asks the provider to stop a task (3.7).
type Cancel struct {
	TaskID string `json:"task_id"`
	Reason string `json:"reason,omitempty"`
}

// Settings is the capability declaration under [ExtensionID] (section 1).
type Settings struct {
	Version  string   `json:"version"`
	Role     string   `json:"role"`
	Accepts  []string `json:"accepts"`
	Emits    []string `json:"emits"`
	Features Features `json:"features"`
}

// Features are the optional parts of the protocol; a missing one is off.
type Features struct {
	OutputStreaming bool `json:"output_streaming"`
	InputStreaming  bool `json:"input_streaming"`
	// HeartbeatIntervalMS is the nominal interval in ms; 0 means none is
	// advertised and no verdict on liveness may be made.
	HeartbeatIntervalMS int64 `json:"heartbeat_interval_ms,omitempty"`
	// TaskMemory says that the provider remembers its tasks over a restart of
	// itself, so that sending a task again never runs it twice (D-12). Ours
	// advertises it where it keeps its outcomes on disk.
	TaskMemory bool `json:"task_memory,omitempty"`
	// Capabilities names what the provider serves. The protocol leaves this to
	// layer 5; a provider of ours adds it so that a dashboard can offer a choice.
	Capabilities []Capability `json:"capabilities,omitempty"`
}

// Capability describes one capability a provider of ours serves.
type Capability struct {
	Name      string      `json:"name"`
	PriceCU   json.Number `json:"price_cu,omitempty"`
	Input     string      `json:"input,omitempty"`      // stdin, arg or none
	Output    string      `json:"output,omitempty"`     // lines, ndjson, text or bytes
	TimeoutMS int64       `json:"timeout_ms,omitempty"` // ms
}
