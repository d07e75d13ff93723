package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/packetbench/packetbench/apps/packetbench/plaintext"
	"github.com/packetbench/packetbench/contract"
)

// exportCmd prints a transcript.
type exportCmd struct {
	ID     string `arg:"" help:"The conversation's id, as the list and the page's address show it."`
	Format string `help:"md for Markdown, json for everything the service knows." enum:"md,json" default:"md"`
}

// Run asks for the conversation and prints it.
func (c *exportCmd) Run(g *Globals) error {
	if !contract.ValidID(c.ID) {
		return &ExitError{exitUsage, "The id of a conversation is 1 to 64 of A-Z a-z 0-9 _ and -"}
	}
	ctx, stop := untilSignal()
	defer stop()
	conn, _, err := connect(ctx, g, contract.ClientMonitor)
	if err != nil {
		return err
	}
	defer conn.close()
	var snapshot struct {
		Conversation json.RawMessage `json:"conversation"`
	}
	if err := conn.call(ctx, contract.MethodGetConversation, contract.SessionParams{SessionID: contract.ConversationID(c.ID)}, &snapshot); err != nil {
		return failed(err)
	}
	return failed(export(g.Stdout, c.Format, snapshot.Conversation))
}

func export(w io.Writer, format string, conversation json.RawMessage) error {
	if format == "json" {
		var b bytes.Buffer
		if err := json.Indent(&b, conversation, "", "  "); err != nil {
			return err
		}
		b.WriteByte('\n')
		_, err := w.Write(b.Bytes())
		return err
	}
	var c contract.Conversation
	if err := json.Unmarshal(conversation, &c); err != nil {
		return fmt.Errorf("the conversation could not be read: %w", err)
	}
	_, err := io.WriteString(w, plaintext.Transcript(c))
	return err
}
