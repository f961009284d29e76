// Package mcp is the front door for agents that speak MCP and not ACOP: the
// coordination owner's verbs and reads as tools and resources, over Streamable
// HTTP ([Server.Handler]) and over stdio ([Server.ServeStdio]).
//
// It owns the words that a model reads (descriptions, results, what to do on
// each refusal), the schemas of the arguments, the reminders of claims and lost
// leases in every result, and the renewing of leases.
//
// # What it must not know
//
// How the owner is reached: it asks through [Owner], the same for an owner in
// this process and for one behind HTTP. It is no owner of leases and decides
// nothing: every grant, refusal and instant is the owner's (core "Claim rules").
//
// # Renewal
//
// Renewing is not the model's job. On stdio the process renews at 60 % of the
// term while it lives and its agent's last sign of life, a call or a heartbeat,
// is younger than [Options.StaleAfter]. Over HTTP, where nothing lives between
// two calls, each tool call of the holder renews. An agent that hangs loses its
// lease by itself. A claim made with auto_renew false is left alone.
//
// # Concurrency
//
// A [Server] is safe for concurrent use. Over HTTP no session is kept: what is
// remembered stands per identity, and only while that identity holds claims.
//
// # Testing
//
// One suite drives both transports through the SDK's own client, against a real
// owner (the program's tests).
package mcp
