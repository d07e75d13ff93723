package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/packetbench/packetbench/apps/packetbench/plaintext"
	"github.com/packetbench/packetbench/contract"
)

// tailCmd prints events from the bus.
type tailCmd struct {
	Session string `help:"Only this conversation." placeholder:"ID"`
	Kind    string `help:"Only this kind (chunk, done, ...) or member of conversation.* (user-turn, ...)." placeholder:"K"`
	Since   string `help:"Where to begin: a sequence number, all or new." default:"new" placeholder:"SEQ"`
	JSON    bool   `name:"json" help:"Print one envelope a line."`
}

// Run follows the events until interrupted.
func (c *tailCmd) Run(g *Globals) error {
	patterns, err := c.patterns()
	if err != nil {
		return err
	}
	since, err := sinceOf(c.Since)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	conn, _, err := connect(ctx, g, contract.ClientMonitor)
	if err != nil {
		return err
	}
	defer conn.close()
	result, err := conn.subscribe(ctx, since, patterns...)
	if err != nil {
		return failed(err)
	}
	ahead, _ := since.(uint64)
	if ahead <= result.Head+1 {
		ahead = 0
	}
	return failed(c.follow(ctx, g, conn, ahead, result.Head))
}

// patterns are the subjects to subscribe to.
func (c *tailCmd) patterns() ([]string, error) {
	id := contract.ConversationID(c.Session)
	if c.Session != "" && !contract.ValidID(c.Session) {
		return nil, &ExitError{exitUsage, "--session: want 1 to 64 of A-Z a-z 0-9 _ and -"}
	}
	var built []string
	add := func(pattern string, err error) error {
		if err == nil {
			built = append(built, pattern)
		}
		return err
	}
	kind, what := contract.Kind(c.Kind), contract.What(c.Kind)
	var err error
	switch {
	case c.Kind == "" && c.Session == "":
		return contract.LoggedSubjects, nil
	case c.Kind == "":
		if err = add(contract.AgentPattern(id)); err == nil {
			err = add(contract.ConversationPattern(id))
		}
	case kind.Valid() && c.Session == "":
		err = add(contract.KindPattern(kind))
	case kind.Valid():
		err = add(contract.Subject(kind, id))
	case slices.Contains(contract.Whats, what) && c.Session == "":
		err = add(contract.WhatPattern(what))
	case slices.Contains(contract.Whats, what):
		err = add(contract.ConversationSubject(what, id))
	default:
		return nil, &ExitError{exitUsage, "--kind: want one of " + strings.Join(names(), ", ")}
	}
	return built, err
}

// names are all kinds and all members of the second family.
func names() (all []string) {
	for _, k := range contract.Kinds {
		all = append(all, string(k))
	}
	for _, w := range contract.Whats {
		all = append(all, string(w))
	}
	return all
}

// sinceOf reads --since.
func sinceOf(s string) (any, error) {
	if s == "all" || s == "new" {
		return s, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return nil, &ExitError{exitUsage, "--since: want a sequence number, all or new"}
	}
	return n, nil
}

// gapText says what a gap means. ahead is the number that --since gave when it
// lies beyond head, the log's last event at the start, else 0: such a gap holds
// nothing that was lost.
func gapText(gap contract.GapParams, ahead, head uint64) string {
	if ahead != 0 && gap.From == head+1 && gap.To == ahead-1 {
		return fmt.Sprintf("The log ends at %d; %d is ahead of it (it may belong to an earlier log). Going on with what comes next.", head, ahead)
	}
	if gap.From == gap.To {
		return fmt.Sprintf("The log no longer holds the event %d; going on behind it.", gap.From)
	}
	return fmt.Sprintf("The log no longer holds the events %d to %d; going on behind them.", gap.From, gap.To)
}

func (c *tailCmd) follow(ctx context.Context, g *Globals, conn *client, ahead, head uint64) error {
	out := &printer{w: g.Stdout}
	for {
		select {
		case <-ctx.Done():
			return nil
		case n, ok := <-conn.events:
			if !ok {
				return conn.ended()
			}
			if n.Method == "gap" {
				fmt.Fprintln(g.Stderr, gapText(n.Gap, ahead, head))
				ahead = 0
			}
			for _, e := range n.Events.Events {
				line, err := c.line(e)
				if err != nil {
					return err
				}
				out.print(line)
			}
			if out.err != nil {
				return out.err
			}
		}
	}
}

func (c *tailCmd) line(e contract.Envelope) (string, error) {
	if !c.JSON {
		return plaintext.Event(e) + "\n", nil
	}
	raw, err := contract.Marshal(e)
	return string(raw) + "\n", err
}

// ended says why the connection is gone.
func (c *client) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
