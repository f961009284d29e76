package acmp

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"signalbox/model/acmp"
)

// The texts of errors are those of the Python reference; data names the
// task and, per code, what R-30 lists.

func newError(code int, message, taskID string, data map[string]any) *acmp.Error {
	all := map[string]any{}
	if taskID != "" {
		all["task_id"] = taskID
	}
	maps.Copy(all, data)
	return &acmp.Error{Code: code, Message: message, Data: all}
}

func detail(text string) map[string]any {
	if text == "" {
		return nil
	}
	return map[string]any{"detail": text}
}

func invalidParams(taskID, text string) *acmp.Error {
	return newError(acmp.CodeInvalidParams, "Invalid params", taskID, detail(text))
}

func internalErrorValue(taskID, text string) *acmp.Error {
	return newError(acmp.CodeInternal, "Internal provider error", taskID, detail(text))
}

func internalError(taskID, text string) *outcome {
	return &outcome{err: internalErrorValue(taskID, text)}
}

func tooLarge(taskID string, limit int) *outcome {
	return internalError(taskID, fmt.Sprintf("the output is larger than the %d bytes held of one task", limit))
}

func timeoutError(taskID string, timeoutMS int64) *outcome {
	return &outcome{err: newError(acmp.CodeTimeout, "Task timed out", taskID, map[string]any{"timeout_ms": timeoutMS})}
}

func cancelledError(taskID, text string) *outcome {
	return &outcome{err: newError(acmp.CodeCancelled, "Task cancelled", taskID, detail(text))}
}

func budgetExceeded(taskID, capability string, price json.Number) *acmp.Error {
	return newError(acmp.CodeBudgetExceeded, "Budget exceeded", taskID, map[string]any{
		"min_price_cu": price,
		"detail":       "Minimum price for " + capability + " is " + price.String() + " CU."})
}

func featureUnsupported(taskID, feature string) *acmp.Error {
	return newError(acmp.CodeFeatureUnsupported, "Feature unsupported", taskID, map[string]any{"feature": feature})
}

// withTaskID names the task in the data of a handler's own error.
func withTaskID(e *acmp.Error, taskID string) *acmp.Error {
	data := map[string]any{}
	maps.Copy(data, e.Data)
	data["task_id"] = taskID
	return &acmp.Error{Code: e.Code, Message: e.Message, Data: data}
}

// toWire is e as the SDK sends it.
func toWire(e *acmp.Error) *jsonrpc.Error {
	data, err := json.Marshal(e.Data)
	if err != nil || e.Data == nil {
		data = []byte("{}")
	}
	return &jsonrpc.Error{Code: int64(e.Code), Message: e.Message, Data: data}
}
