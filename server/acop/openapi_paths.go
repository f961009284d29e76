package acop

import (
	"net/http"
	"reflect"

	core "signalbox/model/acop"
)

// operation is one method of one route as the API's description tells it.
type operation struct {
	method, path string
	summary      string
	core         bool     // a verb of the binding itself
	query        []string // name, or name[] where it may be repeated
	body         object   // nil: a read
	status       []int    // of success
	headers      []string // that every success carries
	answer       object
}

var itemQueryNames = []string{"agent", "between", "status[]", "repo", "branch", "blocker_code", "claimable", "actionable", "q", "order", "limit", "cursor",
	"min_revision"}

// operations are all of them. A test holds the list against the routes.
var operations = append(reads(), append(coreVerbs(), extensionVerbs()...)...)

func reads() []operation {
	get := func(path, summary string, answer object, query ...string) operation {
		return operation{method: http.MethodGet, path: path, summary: summary, status: []int{200}, answer: answer, query: query}
	}
	rows := list("work_items", reflect.TypeFor[[]row](), object{"next_cursor": object{"type": "string"}})
	oneClaim := list("claim", reflect.TypeFor[core.Claim](), object{
		"work_item_status": ref("status"), "lease": ref("Lease"), "overlaps": object{"type": "array", "items": ref("Overlap")}})
	ops := []operation{
		get("work-items", "Work items by filter; the pickup queries", rows, itemQueryNames...),
		get("pickup", "Latest actionable work for an agent; without agent, for the caller", rows, itemQueryNames...),
		get("work-items/"+wildcard, "Everything about one work item", ref("Detail"), "min_revision"),
		get("claims", "Live claims", list("claims", reflect.TypeFor[[]held](), object{"at_utc": reflector{}.of(reflect.TypeFor[core.Time]())}), "agent", "work_item", "min_revision"),
		get("claims/"+wildcard, "One claim, live or ended", oneClaim, "min_revision"),
		get("claim-intents", "Requests that wait for a lead or were decided lately", list("claim_intents", reflect.TypeFor[[]core.Intent](), nil), "min_revision"),
		get("blackboard", "Blackboard entries in the owner's order", list("entries", reflect.TypeFor[[]core.Posted](), nil),
			"work_item", "kind", "author", "entry", "since", "before", "limit", "newest", "min_revision"),
		get("blackboard/"+wildcard, "One blackboard entry", list("entry", reflect.TypeFor[core.BlackboardEntry](), nil), "min_revision"),
		get("agents", "Who may come in, and what each holds", list("agents", reflect.TypeFor[[]agent](), nil), "min_revision"),
		get("settings", "The policies in force", list("settings", reflect.TypeFor[core.Settings](), nil), "min_revision"),
		get("snapshot", "All non-terminal state at one revision", ref("Snapshot"), "min_revision"),
		get("events", "The log as server-sent events: history after the cursor, then live", object{"type": "string"}, "after", "work_item[]", "family[]"),
	}
	for i := range ops {
		switch ops[i].path {
		case "work-items/" + wildcard, "claims/" + wildcard, "blackboard/" + wildcard, "snapshot":
			ops[i].headers = []string{"ETag"}
		}
	}
	return ops
}

// act describes a mutating verb.
func act(path, summary string, body, answer object, status ...int) operation {
	if len(status) == 0 {
		status = []int{200}
	}
	return operation{method: http.MethodPost, path: path, summary: summary, body: body, answer: answer, status: status, headers: []string{"ETag"}}
}

func coreVerbs() []operation {
	claim := members("claim", "work_item_status")
	put := act("work-items", "Create a work item, or merge what is given into it", document(),
		members("work_item", "work_item_status", "blockers", "operations", "artifacts", "validation_requirements"), 200, 201)
	put.method = http.MethodPut
	grant := act("claims", "Claim a work item", flatOrNested("claim_intent", "claim_intent", "claim_intent_id", "requested_at_utc"), claim, 201)
	grant.headers = append(grant.headers, "Location")
	ops := []operation{
		put, grant,
		act("claims/"+wildcard+"/renew", "Prolong a lease", bodyOf("renew"), claim),
		act("claims/"+wildcard+"/release", "Give a claim back; again is no error", bodyOf("release"), claim),
		act("claims/"+wildcard+"/complete", "Say that the work is done, with evidence", bodyOf("complete"), claim),
		act("work-items/"+wildcard+"/accept", "Take completed work over", bodyOf("accept"), members("work_item", "work_item_status", "released")),
		act("blackboard", "Post an entry", flatOrNested("blackboard_entry", "entry", "entry_id"), members("entry"), 201),
	}
	for i := range ops {
		ops[i].core = true
	}
	return ops
}

func extensionVerbs() []operation {
	claim, item := members("claim", "work_item_status"), members("work_item", "work_item_status")
	blockers := members("work_item", "work_item_status", "blockers")
	closed := members("work_item", "work_item_status", "revoked_claim?")
	settings := act("settings", "Change the policies while the owner runs (lead)", bodyOf("settings"), members("settings"))
	settings.method = http.MethodPut
	granted := act("claim-intents/"+wildcard+"/grant", "Let a waiting request pass (lead)", bodyOf("grant"), members("claim", "work_item_status", "intent"))
	granted.headers = append(granted.headers, "Location")
	onItem := func(verb, summary, body string, answer object, status ...int) operation {
		return act("work-items/"+wildcard+"/"+verb, summary, bodyOf(body), answer, status...)
	}
	return []operation{
		settings, granted,
		act("claim-intents/"+wildcard+"/deny", "Turn a waiting request down (lead)", bodyOf("deny"), members("intent", "work_item_status")),
		act("claims/"+wildcard+"/heartbeat", "A sign of life; the lease stays as it is", bodyOf("heartbeat"), claim),
		act("claims/"+wildcard+"/revoke", "Take a claim away (lead)", bodyOf("revoke"), claim),
		onItem("cancel", "End an item for good (creator, lead)", "cancel", closed),
		onItem("supersede", "Replace an item by another one (creator, lead)", "supersede", closed),
		onItem("send-back", "Replace completed work by an item that says what is missing (lead)", "send_back",
			members("work_item", "work_item_status", "superseded_work_item", "entry"), 201),
		onItem("block", "Raise a blocker (creator, holder, lead)", "block", blockers),
		onItem("unblock", "Resolve a blocker (creator, lead)", "unblock", blockers),
		onItem("resolve", "Decide an item that needs attention (lead)", "resolve", members("work_item", "work_item_status", "blockers", "entry")),
		onItem("requeue", "Offer a released item again (creator, lead)", "note", item),
		onItem("consume", "Close accepted work (acceptor, lead)", "note", item),
	}
}
