package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// GitHub's REST interface. Source: docs.github.com/rest/pulls.
const (
	githubRoot    = "https://api.github.com"
	githubVersion = "2022-11-28"
	githubLimit   = 30 * time.Second
	githubMost    = 1 << 20
	githubToken   = contract.KeyringAccount("github-token")
)

// remoteForms are the ways in which a remote on GitHub is written.
var remoteForms = regexp.MustCompile(`^(?:https?://(?:[A-Za-z0-9._~%:+-]+@)?github\.com(?::443)?/|(?:ssh|git)://(?:[A-Za-z0-9._~%:+-]+@)?github\.com(?::\d+)?/|(?:[A-Za-z0-9._-]+@)?github\.com:)([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+?)(?:\.git)?/?$`)

// githubRepo reads owner and name of a repository from the URL of a remote.
func githubRepo(remote string) (owner, name string, ok bool) {
	m := remoteForms.FindStringSubmatch(strings.TrimSpace(remote))
	if m == nil || m[2] == "." || m[2] == ".." {
		return "", "", false
	}
	return m[1], m[2], true
}

// pull is what is read of a pull request.
type pull struct {
	Number int    `json:"number"`
	URL    string `json:"html_url"`
}

// openPullRequest opens a draft for a branch that is pushed, or finds the one
// that is open already.
func (d *desk) openPullRequest(ctx context.Context, remote string, w contract.Worktree, title, body string) (int, string, error) {
	owner, name, ok := githubRepo(remote)
	if !ok {
		return 0, "", errors.New("the remote is not on github.com. Open the pull request on its own page")
	}
	token, err := d.key(githubToken)
	if err != nil {
		var none msg.NoKeyError
		if errors.As(err, &none) {
			err = errors.New("there is no GitHub token. Store one with: packetbench key set github-token")
		}
		return 0, "", err
	}
	ctx, stop := context.WithTimeout(ctx, githubLimit)
	defer stop()
	at := "/repos/" + owner + "/" + name + "/pulls"
	var made pull
	status, said, err := d.askGitHub(ctx, token, http.MethodPost, at, map[string]any{
		"title": title, "head": w.Branch, "base": w.BaseBranch, "body": body, "draft": true,
	}, &made)
	if err == nil && status == http.StatusUnprocessableEntity && strings.Contains(said, "already exists") {
		var open []pull
		query := url.Values{"head": {owner + ":" + w.Branch}, "state": {"open"}}
		status, said, err = d.askGitHub(ctx, token, http.MethodGet, at+"?"+query.Encode(), nil, &open)
		if len(open) > 0 {
			made = open[0]
		}
	}
	switch {
	case err != nil:
		return 0, "", err
	case status >= 300 || made.Number == 0:
		return 0, "", fmt.Errorf("GitHub answered %d: %s", status, said)
	}
	return made.Number, made.URL, nil
}

// askGitHub makes one request. Said is GitHub's own reason of a refusal.
func (d *desk) askGitHub(ctx context.Context, token msg.Key, method, at string, in, out any) (status int, said string, err error) {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return 0, "", err
		}
		body = bytes.NewReader(raw)
	}
	q, err := http.NewRequestWithContext(ctx, method, d.github+at, body)
	if err != nil {
		return 0, "", err
	}
	q.Header.Set("Accept", "application/vnd.github+json")
	q.Header.Set("X-GitHub-Api-Version", githubVersion)
	q.Header.Set("Authorization", "Bearer "+string(token))
	q.Header.Set("User-Agent", config.UserAgent())
	a, err := d.client.Do(q)
	if err != nil {
		return 0, "", fmt.Errorf("GitHub could not be reached: %w", innermost(err))
	}
	defer func() { _ = a.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(a.Body, githubMost))
	if err != nil {
		return 0, "", fmt.Errorf("GitHub's answer broke off: %w", innermost(err))
	}
	if a.StatusCode < 300 {
		return a.StatusCode, "", json.Unmarshal(raw, out)
	}
	return a.StatusCode, reason(raw, a.StatusCode), nil
}

// reason is the text of a refusal.
func reason(raw []byte, status int) string {
	var refused struct {
		Message string `json:"message"`
		Errors  []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if json.Unmarshal(raw, &refused) != nil || refused.Message == "" {
		return http.StatusText(status)
	}
	said := refused.Message
	for _, e := range refused.Errors {
		if e.Message != "" {
			said += "; " + e.Message
		}
	}
	return said
}

// innermost is an error of the network without the address, which may carry
// credentials.
func innermost(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// key fetches a credential.
func (d *desk) key(account contract.KeyringAccount) (msg.Key, error) {
	reply, err := d.node.CallWithTimeout(msg.Secret, msg.GetKey{Account: account}, 8)
	found, ok := reply.(msg.FoundKey)
	if err != nil || !ok {
		return "", errors.New("the key store did not answer; try again")
	}
	return found.Key, found.Err
}
