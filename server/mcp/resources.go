package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acop"
)

// mostNotes is how many notes, the newest, a blackboard has as a resource.
const mostNotes = 200

const mediaJSON = "application/json"

// addResources offers work items and their blackboards by address. Reading one
// is a sign of life but renews nothing (C-003).
func (s *Server) addResources() {
	s.server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "work_item", Title: "A work item", URITemplate: "acop://work-items/{id}", MIMEType: mediaJSON,
		Description: "Everything about one work item, claims and events included. Percent-encode the id."},
		func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return s.resource(ctx, req, "work-items", func(o Owner, id string) (any, error) { return o.Detail(ctx, id) })
		})
	s.server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "blackboard", Title: "The blackboard of a work item", URITemplate: "acop://blackboard/{work_item_id}",
		MIMEType: mediaJSON, Description: "The newest notes about one work item in the owner's order. Percent-encode the id."},
		func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return s.resource(ctx, req, "blackboard", func(o Owner, id string) (any, error) {
				es, err := o.Entries(ctx, EntryQuery{WorkItemID: id, Newest: mostNotes + 1})
				board := map[string]any{"protocol_version": acop.ProtocolVersion, "entries": append([]acop.Posted{}, newest(es, mostNotes)...)}
				if len(es) > mostNotes {
					board["older"] = "left out; " + toolBoard + " reads them with before"
				}
				return board, err
			})
		})
}

func (s *Server) resource(ctx context.Context, req *sdk.ReadResourceRequest, host string, read func(Owner, string) (any, error)) (*sdk.ReadResourceResult, error) {
	s.keeper.alive()
	uri := req.Params.URI
	u, err := url.Parse(uri)
	if err != nil || u.Host != host {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	id, err := url.PathUnescape(strings.TrimPrefix(u.EscapedPath(), "/"))
	if err != nil || id == "" {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	c, refused := s.enter(ctx, "resources/read", req.Extra)
	if refused != nil {
		return nil, resourceError(refused)
	}
	v, err := read(c.owner, id)
	if err != nil {
		refused := refusalOf(err)
		if refused.Code == acop.CodeItemNotFound {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		return nil, resourceError(refused)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(raw) > mostResource {
		short, left := shorten(tree(raw), mostResource)
		if m, isObject := short.(map[string]any); isObject {
			m["left_out"] = first(left, mostLeftOut)
		}
		if raw, err = json.Marshal(short); err != nil {
			return nil, err
		}
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mediaJSON, Text: string(raw)}}}, nil
}

// helpToResources tells whoever reads an address behind which there is nothing how to come
// to a right one. The SDK's own refusal quotes the address in the way of Go: with a
// control character in it that is no JSON, and the SDK ends the session over it.
func helpToResources(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		var e *jsonrpc.Error
		p, reads := req.GetParams().(*sdk.ReadResourceParams)
		if !reads || p == nil || !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams || e.Data == nil {
			return res, err
		}
		data, err := json.Marshal(map[string]string{"uri": clip(p.URI, maxID)})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Data: data, Message: "there is nothing at this address; take an id as " + toolList +
			" shows it and percent-encode it, as in acop://work-items/work%3Ashop%2Fcheckout"}
	}
}

// resourceError is a refusal in the form of the protocol, with its remedy.
func resourceError(e *acop.Error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: string(e.Code) + ": " + e.Message + "; " + next("it", e)}
}
