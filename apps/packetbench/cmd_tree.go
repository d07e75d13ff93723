package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/packetbench/packetbench/apps/packetbench/plaintext"
	"github.com/packetbench/packetbench/contract"
)

// treeCmd shows the live actor tree.
type treeCmd struct {
	JSON  bool `name:"json" help:"Print JSON, one line a picture."`
	Watch bool `help:"Draw it again every second until interrupted."`
}

// treeEvery is how often a watched tree is drawn.
const treeEvery = time.Second

// clearScreen moves the cursor home and clears what is below.
const clearScreen = "\x1b[H\x1b[J"

// Run asks for the tree and prints it.
func (c *treeCmd) Run(g *Globals) error {
	ctx, stop := untilSignal()
	defer stop()
	conn, _, err := connect(ctx, g, contract.ClientMonitor)
	if err != nil {
		return err
	}
	defer conn.close()
	_, inPlace := terminal(g.Stdout)
	return failed(c.show(ctx, g, conn, inPlace && c.Watch && !c.JSON))
}

func (c *treeCmd) show(ctx context.Context, g *Globals, conn *client, inPlace bool) error {
	for {
		var raw json.RawMessage
		err := conn.call(ctx, contract.MethodTree, contract.Empty{}, &raw)
		if ctx.Err() != nil {
			return nil // Interrupted, which is how a watch ends.
		}
		if err != nil {
			return err
		}
		text, err := c.text(raw)
		if err != nil {
			return err
		}
		if inPlace {
			text = clearScreen + text
		}
		if _, err := fmt.Fprint(g.Stdout, text); err != nil || !c.Watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(treeEvery):
		}
	}
}

func (c *treeCmd) text(raw json.RawMessage) (string, error) {
	if c.JSON {
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return "", err
		}
		return line.String() + "\n", nil
	}
	var t contract.Tree
	if err := json.Unmarshal(raw, &t); err != nil {
		return "", fmt.Errorf("the tree could not be read: %w", err)
	}
	return plaintext.Tree(t), nil
}
