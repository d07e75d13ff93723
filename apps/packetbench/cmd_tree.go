package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/term"

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

// What a watched tree does to the person's terminal: it draws on the second
// screen, from the top and over what stood there, and gives the first one back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// Run asks for the tree and prints it.
func (c *treeCmd) Run(g *Globals) error {
	ctx, stop := untilSignal()
	defer stop()
	conn, _, err := connect(ctx, g, contract.ClientMonitor)
	if err != nil {
		return err
	}
	defer conn.close()
	fd, is := terminal(g.Stdout)
	if !is || !c.Watch || c.JSON {
		return failed(c.show(ctx, g, conn, nil))
	}
	fmt.Fprint(g.Stdout, enterScreen)
	defer fmt.Fprint(g.Stdout, leaveScreen)
	return failed(c.show(ctx, g, conn, func() (cols, rows int) {
		cols, rows, err := term.GetSize(fd)
		if err != nil {
			return 80, 24
		}
		return cols, rows
	}))
}

// show prints the tree; size, for a watch in place, is that of the terminal. A
// watch draws each second, and at once when the service says that a state has
// changed.
func (c *treeCmd) show(ctx context.Context, g *Globals, conn *client, size func() (cols, rows int)) error {
	if c.Watch {
		if _, err := conn.subscribe(ctx, "new", contract.OpsSubject(contract.OpsTreeChanged)); err != nil && ctx.Err() == nil {
			return err
		}
	}
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
		if size != nil {
			cols, rows := size()
			text = homeCursor + strings.ReplaceAll(plaintext.Fit(text, cols, rows), "\n", clearLine+"\r\n") + clearBelow
		}
		if _, err := fmt.Fprint(g.Stdout, text); err != nil || !c.Watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-conn.events:
			if !ok {
				return conn.ended()
			}
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
