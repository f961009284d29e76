package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
	"signalbox/model/text"
)

// maxInput bounds an input given as a whole, in bytes; more is for
// --input-stream.
const maxInput = 12 << 20

// invokeFlags are the flags of `signalbox invoke`.
type invokeFlags struct {
	input        string
	inputType    string
	inputStream  bool
	outputType   string
	timeout      time.Duration // 0: as the capability has it
	limit        time.Duration // what the provider lets the capability take; 0: it does not say
	maxPrice     string
	tier         string
	escrow       string
	proof        string
	stream       bool
	retry        bool
	runTwice     bool // --retry was given, not only left on
	on           string
	quote        bool
	quoteWait    time.Duration
	insecureHTTP bool
}

func newInvokeCommand(g *globals) *cobra.Command {
	f := &invokeFlags{}
	cmd := &cobra.Command{
		Use:   "invoke CAPABILITY",
		Short: "Run one task at a provider and print its output",
		Long: `Run one task at a provider: the output goes to stdout as it comes, text and bytes
as they are, JSON one value a line; heartbeats go to stderr. Exit code 0 for a
result, 1 for an error of the task, 2 for wrong usage, 3 when the provider cannot be
reached, 130 when interrupted (the task is cancelled first; a second ctrl+c leaves at
once), 141 when nobody reads the output any more, which cancels the task as well.`,
		Example: `  signalbox invoke run-tests --provider ci=http://127.0.0.1:8090/mcp
  signalbox invoke summarise --quote --max-price 0.01 --provider a=https://a/acmp --provider b=https://b/acmp
  signalbox invoke review --provider r='stdio:my-agent --acmp' --input @diff.txt
  tail -f app.log | signalbox invoke watch --provider w=https://host/acmp --input-stream`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			stream := streamAuto
			if cmd.Flags().Changed("stream") {
				stream = map[bool]streamWish{true: streamOn, false: streamOff}[f.stream]
			}
			if f.timeout < time.Millisecond && cmd.Flags().Changed("timeout") {
				return failf(exitUsage, "--timeout %s: must be at least 1ms", f.timeout)
			}
			f.runTwice = f.retry && cmd.Flags().Changed("retry")
			return runInvoke(cmd.Context(), g, f, args[0], stream)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.input, "input", "", "input: TEXT, @FILE or - for stdin (default: an empty text)")
	fl.StringVar(&f.inputType, "type", "text", "type of the input: text, json, or another (then its bytes go as base64)")
	fl.BoolVar(&f.inputStream, "input-stream", false, "send stdin as streamed input while it comes")
	fl.StringVar(&f.outputType, "output-type", "", "wanted type of the output (default json, as the protocol has it)")
	fl.DurationVar(&f.timeout, "timeout", 0, "deadline of the task, and longest wait to reach the provider (default: what the capability may take by its provider, else 30s)")
	fl.StringVar(&f.maxPrice, "max-price", "", "most you will pay, in CU (decimal)")
	fl.StringVar(&f.tier, "tier", "", "preferred quality tier (S, A, B)")
	fl.StringVar(&f.escrow, "escrow", "", "escrow_id of a negotiated price")
	fl.StringVar(&f.proof, "proof", "", "ask for a proof of this method, such as result-hash, and check it")
	fl.BoolVar(&f.stream, "stream", true, "have the output streamed (default: where the provider offers it)")
	fl.Lookup("stream").DefValue = "" // it is no fixed one
	fl.BoolVar(&f.retry, "retry", true, "send again by itself when the stream breaks; given, also to a provider on stdio that ended, where the task may then run twice")
	fl.BoolVar(&f.quote, "quote", false, "ask all providers for an offer first and take the cheapest")
	fl.DurationVar(&f.quoteWait, "quote-wait", 2*time.Second, "how long to wait for offers")
	fl.StringVar(&f.on, "on", "", "name of the provider, where several are given")
	fl.BoolVar(&f.insecureHTTP, "insecure-http", false, "allow http:// to providers on other machines")
	return cmd
}

type streamWish int

const (
	streamAuto streamWish = iota
	streamOn
	streamOff
)

func runInvoke(ctx context.Context, g *globals, f *invokeFlags, capability string, stream streamWish) error {
	if g.readOnly {
		return failf(exitUsage, "--read-only: invoking a task changes something")
	}
	params, err := f.params(g, capability)
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	specs, err := g.loadProviders(f.insecureHTTP)
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	if specs, err = f.candidates(specs); err != nil {
		return failf(exitUsage, "%w", err)
	}
	conf, err := g.loadConfig()
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	brk := watchInterrupt(ctx)
	defer brk.stop()
	out := newInvokeOutput(g, brk)
	b, err := buyer.New(buyer.Options{
		Providers: specs, StateDir: g.invokeDir(), Transcripts: conf.Transcripts.bounds(), Events: out.event, NoReattach: true,
		Name: fmt.Sprintf("signalbox invoke, process %d", os.Getpid()), Told: true,
		Watchdog: watchdogArgv(), Version: build().Version,
	})
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	defer closeBuyer(ctx, b, brk)
	out.stop = func(id, reason string) { _ = b.Cancel(context.WithoutCancel(ctx), id, reason) }
	out.hint = func(ev *acmp.TaskEvent) string {
		return instead(brk.ctx, b, capability, ev) + f.moreTime(ev, out.deadline)
	}
	id, err := f.send(brk.ctx, g, b, specs, params, stream)
	if err != nil {
		return out.refused(err)
	}
	if f.inputStream {
		go feedInput(brk.ctx, b, id, f.inputType, g.sys.Stdin, out)
	}
	return out.wait(id)
}

// send finds the provider and sends the task. Finding and reaching it may take no
// longer than the task itself: who gives a deadline waits for all of it. Without one it
// is reachWait.
func (f *invokeFlags) send(ctx context.Context, g *globals, b *buyer.Buyer, specs []buyer.ProviderSpec, p *acmp.InvokeParams, stream streamWish) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(f.timeout, reachWait))
	defer cancel()
	var name string
	var won *acmp.Offer
	if f.quote {
		name, won, err = f.take(ctx, g, b, specs, p)
	} else {
		name, err = choose(ctx, b, specs, p.Capability)
	}
	if err == nil {
		err = f.fit(ctx, b, name, p, stream)
	}
	if err != nil {
		return "", err
	}
	if msg := tightDeadline(won, p.TimeoutMS); msg != "" {
		fmt.Fprintln(g.sys.Stderr, "signalbox: "+msg)
	}
	return b.Invoke(ctx, acmp.Invocation{Provider: name, Params: *p, NoRetry: !f.retry, RunTwice: f.runTwice})
}

// invokeDir is the folder of transcripts, or "" where it cannot be made: the
// task matters more.
func (g *globals) invokeDir() string {
	dir := g.buyerDir()
	if err := makePrivateDir(dir); err != nil {
		fmt.Fprintf(g.sys.Stderr, "signalbox: no transcript is kept: %s\n", text.Line(err.Error()))
		return ""
	}
	return dir
}

// closeBuyer ends the buyer, at once when the user has left.
func closeBuyer(ctx context.Context, b *buyer.Buyer, brk *interrupt) {
	wait := 5 * time.Second
	if brk.left() {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	_ = b.Close(ctx)
}

// candidates narrows the providers to those that --on allows.
func (f *invokeFlags) candidates(specs []buyer.ProviderSpec) ([]buyer.ProviderSpec, error) {
	switch {
	case len(specs) == 0:
		return nil, errors.New("no provider is known: give --provider NAME=URL or NAME=stdio:COMMAND")
	case f.on == "":
		return specs, nil
	}
	for _, s := range specs {
		if s.Name == f.on {
			return []buyer.ProviderSpec{s}, nil
		}
	}
	return nil, fmt.Errorf("--on %s: there is no provider of this name", f.on)
}

// choose picks the only provider, or the only one that lists the capability.
func choose(ctx context.Context, b *buyer.Buyer, specs []buyer.ProviderSpec, capability string) (string, error) {
	if len(specs) == 1 {
		return specs[0].Name, nil
	}
	sets := make([]*acmp.Settings, len(specs))
	errs := make([]error, len(specs))
	var wg sync.WaitGroup
	for i, s := range specs {
		wg.Go(func() {
			sets[i], errs[i] = b.Settings(ctx, s.Name)
		})
	}
	wg.Wait()
	var names []string
	for i, set := range sets {
		if _, listed := set.Capability(capability); listed && errs[i] == nil {
			names = append(names, specs[i].Name)
		}
	}
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", failf(exitUsage, "several providers offer %q: %s; choose with --on", capability, strings.Join(names, ", "))
	case !slices.Contains(errs, nil):
		return "", errors.Join(errs...)
	}
	if have := otherCapabilities(capability, sets...); have != "" {
		return "", failf(exitUsage, "no provider lists %q; there are %s; for one that is not listed choose with --on", capability, have)
	}
	return "", failf(exitUsage, "no provider lists %q; choose one with --on", capability)
}

// fit decides about streaming by what the provider advertises, and fits the task
// to the capability.
func (f *invokeFlags) fit(ctx context.Context, b *buyer.Buyer, name string, p *acmp.InvokeParams, stream streamWish) error {
	set, err := b.Settings(ctx, name)
	if err != nil {
		return err
	}
	p.Stream = stream == streamOn || (stream == streamAuto && set.Features.OutputStreaming)
	c, _ := set.Capability(p.Capability) // one that is not listed is asked for all the same
	return f.suit(&c, p)
}

// params makes the invoke from the flags; the errors are of usage.
func (f *invokeFlags) params(g *globals, capability string) (*acmp.InvokeParams, error) {
	p := &acmp.InvokeParams{
		Capability: capability, OutputType: f.outputType, TimeoutMS: f.timeout.Milliseconds(),
		PreferredTier: f.tier, EscrowID: f.escrow, ProofMethod: f.proof, InputStream: f.inputStream,
	}
	if f.quote && f.quoteWait < time.Millisecond {
		return nil, fmt.Errorf("--quote-wait %s: must be at least 1ms", f.quoteWait)
	}
	if f.maxPrice != "" {
		n := json.Number(f.maxPrice)
		if acmp.ValidCU(n) != nil || !json.Valid([]byte(f.maxPrice)) {
			return nil, fmt.Errorf("--max-price %s: must be a decimal number of CU, zero or more", text.Line(f.maxPrice))
		}
		p.MaxPriceCU = &n
	}
	if f.inputStream && f.input == "-" {
		return nil, errors.New("--input - and --input-stream both read stdin; use one")
	}
	if f.inputStream && f.input == "" {
		return p, nil
	}
	raw, err := f.readInput(g.sys.Stdin)
	if err != nil {
		return nil, err
	}
	in, err := payloadOf(f.inputType, raw)
	if err != nil {
		return nil, fmt.Errorf("--input: %w", err)
	}
	p.Input = &in
	return p, nil
}

func (f *invokeFlags) readInput(stdin io.Reader) ([]byte, error) {
	path, isFile := strings.CutPrefix(f.input, "@")
	src := stdin
	switch {
	case isFile:
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--input: %w", err)
		}
		defer file.Close()
		src = file
	case f.input != "-":
		return []byte(f.input), nil
	}
	raw, err := io.ReadAll(io.LimitReader(src, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("--input: %w", err)
	}
	if len(raw) > maxInput {
		return nil, fmt.Errorf("--input: more than %d MiB; use --input-stream", maxInput>>20)
	}
	return raw, nil
}

// payloadOf makes a payload of type t from bytes.
func payloadOf(t string, raw []byte) (acmp.Payload, error) {
	switch {
	case t == "":
		return acmp.Payload{}, errors.New("--type is empty")
	case acmp.IsText(t):
		if !utf8.Valid(raw) {
			return acmp.Payload{}, errors.New("the text is not UTF-8; give its --type")
		}
		p := acmp.Text(string(raw))
		p.Type = t
		return p, nil
	case acmp.IsJSON(t):
		if !json.Valid(raw) {
			return acmp.Payload{}, errors.New("this is not JSON; use --type text")
		}
		return acmp.Payload{Type: t, Data: raw}, nil
	}
	return acmp.Bytes(t, raw), nil
}

// feedInput sends stdin in chunks as it comes, whole characters and lines where
// it can, then the final chunk.
func feedInput(ctx context.Context, b *buyer.Buyer, id, typ string, stdin io.Reader, out *invokeOutput) {
	c := newInputCutter(stdin, typ)
	for {
		p, final, err := c.next()
		if err == nil {
			err = b.Input(ctx, id, p, final)
		}
		switch {
		case errors.Is(err, buyer.ErrEnded) || (err != nil && ctx.Err() != nil):
			return
		case err != nil:
			out.giveUp(id, "the input failed: "+err.Error())
			return
		case final:
			return
		}
	}
}
