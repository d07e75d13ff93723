package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/secret"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// keyCmd stores, checks and removes credentials. A running service does it, so
// that its badges follow; without one the same code does it here.
type keyCmd struct {
	Set  keySetCmd  `cmd:"" help:"Store a key; its value is read from stdin and not shown."`
	Get  keyGetCmd  `cmd:"" help:"Say whether a key is stored, and its last four characters."`
	List keyListCmd `cmd:"" help:"The same for every account."`
	Rm   keyRmCmd   `cmd:"" help:"Remove a key."`
}

type account struct {
	Account string `arg:"" help:"Account, such as api-key-anthropic, or its provider, such as anthropic."`
}

type (
	keySetCmd  struct{ account }
	keyGetCmd  struct{ account }
	keyListCmd struct{}
	keyRmCmd   struct{ account }
)

// keys is where credentials are.
type keys interface {
	set(ctx context.Context, a contract.KeyringAccount, value msg.Key) error
	remove(ctx context.Context, a contract.KeyringAccount) error
	list(ctx context.Context) ([]contract.KeyInfo, error)
	close()
}

// openKeys asks the running service, else the key store itself.
func openKeys(ctx context.Context, g *Globals) (keys, error) {
	run, err := findService(g)
	if errors.Is(err, errNoService) {
		paths, err := config.DataDir(g.Home, g.Getenv)
		if err != nil {
			return nil, failed(err)
		}
		if err := os.MkdirAll(paths.Home, 0o700); err != nil {
			return nil, failed(fmt.Errorf("the data directory %s cannot be created: %w. Choose another one with --home", paths.Home, err))
		}
		return storedKeys{secret.Open(secret.Options{Paths: paths, Getenv: g.Getenv})}, nil
	}
	if err != nil {
		return nil, failed(err)
	}
	conn, err := dial(ctx, run.URL, run.OwnerToken)
	if err != nil {
		return nil, failed(err)
	}
	return servedKeys{conn}, nil
}

// storedKeys is the key store without a service.
type storedKeys struct{ keys *secret.Keys }

func (s storedKeys) set(_ context.Context, a contract.KeyringAccount, value msg.Key) error {
	_, err := s.keys.Set(a, value)
	return err
}

func (s storedKeys) remove(_ context.Context, a contract.KeyringAccount) error {
	return s.keys.Delete(a)
}
func (s storedKeys) list(context.Context) ([]contract.KeyInfo, error) { return s.keys.Info(), nil }
func (s storedKeys) close()                                           {}

// servedKeys is the key store behind the service's door.
type servedKeys struct{ conn *client }

func (s servedKeys) set(ctx context.Context, a contract.KeyringAccount, value msg.Key) error {
	return s.conn.call(ctx, contract.MethodSetKey, contract.KeyParams{Account: a, Value: string(value)}, nil)
}

func (s servedKeys) remove(ctx context.Context, a contract.KeyringAccount) error {
	return s.conn.call(ctx, contract.MethodDeleteKey, contract.KeyParams{Account: a}, nil)
}

func (s servedKeys) list(ctx context.Context) (infos []contract.KeyInfo, err error) {
	err = s.conn.call(ctx, contract.MethodListKeys, contract.Empty{}, &infos)
	return infos, err
}
func (s servedKeys) close() { s.conn.close() }

// resolve reads an account's name, or that of the provider it belongs to.
func (a account) resolve() (contract.KeyringAccount, error) {
	known := secret.Accounts()
	if slices.Contains(known, contract.KeyringAccount(a.Account)) {
		return contract.KeyringAccount(a.Account), nil
	}
	if row, err := contract.RowForProvider(contract.ProviderID(a.Account)); err == nil && row.Account != "" {
		return row.Account, nil
	}
	var names []string
	for _, k := range known {
		names = append(names, string(k))
	}
	return "", &ExitError{exitUsage, fmt.Sprintf("No account is called %q. Known: %s.", a.Account, strings.Join(names, ", "))}
}

// with opens the keys for one command.
func with(g *Globals, do func(context.Context, keys) error) error {
	ctx, stop := untilSignal()
	defer stop()
	k, err := openKeys(ctx, g)
	if err != nil {
		return err
	}
	defer k.close()
	return failed(do(ctx, k))
}

// Run stores a key.
func (c *keySetCmd) Run(g *Globals) error {
	a, err := c.resolve()
	if err != nil {
		return err
	}
	value, err := readKey(g, a)
	if err != nil {
		return failed(err)
	}
	return with(g, func(ctx context.Context, k keys) error {
		if err := k.set(ctx, a, value); err != nil {
			return err
		}
		return say(ctx, g.Stdout, k, a)
	})
}

// readKey reads the value: from a terminal without echo, else all of stdin.
func readKey(g *Globals, a contract.KeyringAccount) (msg.Key, error) {
	if fd, is := terminal(g.Stdin); is {
		fmt.Fprintf(g.Stderr, "Value of %s (not shown): ", a)
		value, err := term.ReadPassword(fd)
		fmt.Fprintln(g.Stderr)
		return msg.Key(value), err
	}
	// A key is short; more is a file that was piped in by mistake.
	const most = 64 << 10
	value, err := io.ReadAll(io.LimitReader(g.Stdin, most+1))
	if err != nil {
		return "", fmt.Errorf("the value could not be read from stdin: %w", err)
	}
	if len(value) > most {
		return "", errors.New("the value on stdin is longer than a key; give the key alone")
	}
	return msg.Key(strings.TrimSpace(string(value))), nil
}

// Run says whether a key is stored.
func (c *keyGetCmd) Run(g *Globals) error {
	a, err := c.resolve()
	if err != nil {
		return err
	}
	return with(g, func(ctx context.Context, k keys) error { return say(ctx, g.Stdout, k, a) })
}

// Run lists every account.
func (*keyListCmd) Run(g *Globals) error {
	return with(g, func(ctx context.Context, k keys) error { return say(ctx, g.Stdout, k, "") })
}

// Run removes a key.
func (c *keyRmCmd) Run(g *Globals) error {
	a, err := c.resolve()
	if err != nil {
		return err
	}
	return with(g, func(ctx context.Context, k keys) error {
		if err := k.remove(ctx, a); err != nil {
			return err
		}
		return say(ctx, g.Stdout, k, a)
	})
}

// say prints one line for an account, or for all when it is empty.
func say(ctx context.Context, w io.Writer, k keys, a contract.KeyringAccount) error {
	infos, err := k.list(ctx)
	if err != nil {
		return err
	}
	out := &printer{w: w}
	for _, i := range infos {
		if a == "" || i.Account == a {
			out.print(keyLine(i) + "\n")
		}
	}
	return out.err
}

func keyLine(i contract.KeyInfo) string {
	line := fmt.Sprintf("%-20s not stored", i.Account)
	if i.Present {
		line = fmt.Sprintf("%-20s stored", i.Account)
		if i.Last4 != "" {
			line += ", ends in " + i.Last4
		}
	}
	if i.Source != "" {
		line += " (" + i.Source + ")"
	}
	return line
}
