package store

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// imageSuffix ends the name of a file that holds the last screen of a terminal:
// a line of JSON that says what it was, and the snapshot behind it, compressed.
const imageSuffix = ".screen"

const (
	imageVersion = 1
	// maxImageHead bounds the line, maxImage the snapshot: a terminal takes at
	// most 8 MB.
	maxImageHead = 256 << 10
	maxImage     = 16 << 20
)

// errImage says that a file is no image of ours.
var errImage = errors.New("store: not the last screen of a terminal")

// imageHead is the first line.
type imageHead struct {
	Version int              `json:"version"`
	Info    msg.TerminalInfo `json:"info"`
	At      time.Time        `json:"at"`
}

// image is one file as the lane knows it.
type image struct {
	info msg.TerminalInfo
	at   time.Time
	size int64
}

// images keeps the last screens of terminals. It belongs to one lane.
type images struct {
	paths config.Paths
	notes *board
	now   func() time.Time
	most  int
	bytes int64
	// list is nil until the folder was read.
	list map[contract.TerminalID]image
}

func (x *images) path(id contract.TerminalID) string {
	return filepath.Join(x.paths.Terminals(), string(id)+imageSuffix)
}

// encodeImage is the content of a file.
func encodeImage(i msg.TerminalImage) ([]byte, error) {
	head, err := contract.Marshal(imageHead{Version: imageVersion, Info: i.Info, At: i.At})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteByte('\n')
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(i.Snapshot); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decodeHead reads the first line alone.
func decodeHead(r *bufio.Reader) (imageHead, error) {
	var h imageHead
	line, err := r.ReadSlice('\n')
	if err != nil {
		return h, errImage // Also a line that is longer than the reader.
	}
	if json.Unmarshal(line, &h) != nil || h.Version != imageVersion || !contract.ValidID(string(h.Info.ID)) {
		return h, errImage
	}
	return h, nil
}

// decodeImage reads a whole file.
func decodeImage(r io.Reader) (*msg.TerminalImage, error) {
	b := bufio.NewReaderSize(r, maxImageHead)
	h, err := decodeHead(b)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, errImage
	}
	snapshot, err := io.ReadAll(io.LimitReader(z, maxImage+1))
	if err != nil || len(snapshot) > maxImage {
		return nil, errImage
	}
	return &msg.TerminalImage{Info: h.Info, Snapshot: snapshot, At: h.At}, nil
}

// read fills the list from the folder. What is no image is set aside.
func (x *images) read() {
	if x.list != nil {
		return
	}
	x.list = make(map[contract.TerminalID]image)
	entries, err := os.ReadDir(x.paths.Terminals())
	if err != nil {
		return // Not made yet.
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), imageSuffix)
		if !ok || !contract.ValidID(id) || !e.Type().IsRegular() {
			continue
		}
		found, err := x.head(contract.TerminalID(id))
		switch {
		case err == nil:
			x.list[contract.TerminalID(id)] = found
		case errors.Is(err, errImage):
			x.aside(contract.TerminalID(id))
		default:
			x.notes.add("The last screen of terminal %s could not be read (%v).", id, plain(err))
		}
	}
	removeTemps(x.paths.Terminals(), func(base string) bool { return strings.HasSuffix(base, imageSuffix) })
}

func (x *images) head(id contract.TerminalID) (image, error) {
	f, err := os.Open(x.path(id))
	if err != nil {
		return image{}, err
	}
	defer func() { _ = f.Close() }()
	h, err := decodeHead(bufio.NewReaderSize(f, maxImageHead))
	if err != nil {
		return image{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return image{}, err
	}
	h.Info.ID = id // The name is what it is asked by.
	return image{info: h.Info, at: h.At, size: info.Size()}, nil
}

// aside keeps a damaged file out of the way.
func (x *images) aside(id contract.TerminalID) {
	delete(x.list, id)
	name, err := setAside(x.path(id), x.now())
	if err != nil {
		x.notes.add("The last screen of terminal %s is damaged and could not be renamed (%v).", string(id), plain(err))
		return
	}
	x.notes.add("The last screen of terminal %s was damaged and was kept as %s.", string(id), name)
}

// save writes an image and drops the oldest ones over the limits.
func (x *images) save(i msg.TerminalImage) error {
	if !contract.ValidID(string(i.Info.ID)) {
		return fmt.Errorf("%w: %q", contract.ErrBadID, string(i.Info.ID))
	}
	x.read()
	content, err := encodeImage(i)
	if err == nil {
		err = os.MkdirAll(x.paths.Terminals(), 0o700)
	}
	if err == nil {
		err = replace(x.path(i.Info.ID), content)
	}
	if err != nil {
		return trouble("keep the last screen of a terminal", err)
	}
	x.list[i.Info.ID] = image{info: i.Info, at: i.At, size: int64(len(content))}
	return x.trim()
}

func (x *images) trim() error {
	order := make([]contract.TerminalID, 0, len(x.list))
	total := int64(0)
	for id, i := range x.list {
		order = append(order, id)
		total += i.size
	}
	slices.SortFunc(order, func(a, b contract.TerminalID) int {
		return cmp.Or(x.list[a].at.Compare(x.list[b].at), cmp.Compare(a, b))
	})
	for len(order) > 1 && (len(order) > x.most || total > x.bytes) {
		total -= x.list[order[0]].size
		if err := x.forget(order[0]); err != nil {
			return err
		}
		order = order[1:]
	}
	return nil
}

func (x *images) forget(id contract.TerminalID) error {
	if !contract.ValidID(string(id)) {
		return nil
	}
	x.read()
	delete(x.list, id)
	err := os.Remove(x.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return trouble("remove the last screen of a terminal", err)
}

// all lists what is kept, the newest first.
func (x *images) all() []msg.TerminalInfo {
	x.read()
	out := make([]msg.TerminalInfo, 0, len(x.list))
	for _, i := range x.list {
		out = append(out, i.info)
	}
	slices.SortFunc(out, func(a, b msg.TerminalInfo) int {
		return cmp.Or(x.list[b.ID].at.Compare(x.list[a.ID].at), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// load never fails: what cannot be read is not there.
func (x *images) load(id contract.TerminalID) *msg.TerminalImage {
	x.read()
	if _, ok := x.list[id]; !ok {
		return nil
	}
	f, err := os.Open(x.path(id))
	if err != nil {
		delete(x.list, id)
		return nil
	}
	i, err := decodeImage(f)
	_ = f.Close()
	if err != nil {
		x.aside(id)
		return nil
	}
	i.Info.ID = id
	return i
}

// terminalRequest carries out the requests about last screens.
func (a *actor) terminalRequest(request any, answer func(any)) {
	a.do(laneImages, func() func() {
		var reply any
		switch m := request.(type) {
		case msg.ListTerminalImages:
			reply = a.images.all()
		case msg.LoadTerminalImage:
			reply = msg.LoadedTerminalImage{Image: a.images.load(m.ID)}
		case msg.ForgetTerminalImage:
			reply = msg.Done{Err: a.images.forget(m.ID)}
		}
		return func() { answer(reply) }
	})
}

// keepImage saves an image; that it could not be saved is told once, since the
// next one comes with the next pause of the output.
func (a *actor) keepImage(i msg.TerminalImage) {
	a.do(laneImages, func() func() {
		err := a.images.save(i)
		return func() {
			if err != nil && a.imageTrouble != err.Error() {
				a.notes.add("%s", err)
				a.Log().Warning("last screen not kept terminal=%s reason=%q", string(i.Info.ID), err)
			}
			a.imageTrouble = ""
			if err != nil {
				a.imageTrouble = err.Error()
			}
		}
	})
}
