// A receiver of doorhook's webhooks in Go: the standard library and nothing else.
//
//	PORT=9000 JOURNAL=receiver.jsonl WEBHOOK_SECRET=whsec_... go run receiver.go
//
// WITH_PROBE=1 adds GET /probe for the conformance suite. Never set it in production.
//
// Go brings no database. Events go to a journal, one line each, synced before the answer. With a database, take a
// unique constraint on the webhook-id and one transaction instead, as the other examples do.
package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

const longestBody = 1 << 20

// entry is one line of the journal: an event that was done.
type entry struct {
	ID           string          `json:"webhook_id"`
	ResourceType string          `json:"resource_type"`
	Data         json.RawMessage `json:"data"`
}

// journal is what is known and what was done. A line is both: an event is known once its effect is written.
type journal struct {
	mutex sync.Mutex
	file  *os.File
	size  int64
	done  map[string][]entry
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, done: map[string][]entry{}}
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			// A line without an end was being written when the process died. It was never acknowledged.
			break
		}
		var read entry
		if err := json.Unmarshal(line, &read); err != nil {
			return nil, fmt.Errorf("%s: a line can't be read: %w", path, err)
		}
		j.done[read.ID] = append(j.done[read.ID], read)
		j.size += int64(len(line))
	}
	return j, file.Truncate(j.size)
}

// handleOnce does what an event asks for unless it was done. It returns when that is on disk.
func (j *journal) handleOnce(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if len(j.done[e.ID]) > 0 {
		return nil
	}
	if _, err = j.file.WriteAt(line, j.size); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return err
	}
	j.size += int64(len(line))
	j.done[e.ID] = append(j.done[e.ID], e)
	return nil
}

var digits = regexp.MustCompile(`^[0-9]{1,12}$`)

// isGenuine checks a Standard Webhooks signature: HMAC-SHA-256 of id.timestamp.body, over the bytes that arrived.
func isGenuine(key []byte, header http.Header, body []byte) bool {
	if key == nil {
		return true
	}
	timestamp := header.Get("webhook-timestamp")
	if !digits.MatchString(timestamp) {
		return false
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Now().Unix() - seconds; age > 300 || age < -300 {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", header.Get("webhook-id"), timestamp)
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// Several signatures come while a secret is rotated.
	for _, signature := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(signature), expected) {
			return true
		}
	}
	return false
}

// readEvent finds the event in a body. Members and types that are not known are fine.
func readEvent(id string, body []byte) (entry, bool) {
	var message struct {
		Event *struct {
			ResourceType *string         `json:"resource_type"`
			Data         json.RawMessage `json:"data"`
		} `json:"event"`
	}
	if !utf8.Valid(body) || json.Unmarshal(body, &message) != nil || message.Event == nil {
		return entry{}, false
	}
	event := message.Event
	if event.ResourceType == nil || len(event.Data) == 0 || event.Data[0] != '{' {
		return entry{}, false
	}
	return entry{ID: id, ResourceType: *event.ResourceType, Data: event.Data}, true
}

// canonicalString writes a string as RFC 8785 wants it.
func canonicalString(out *bytes.Buffer, text string) {
	out.WriteByte('"')
	for _, char := range text {
		switch {
		case char == '"' || char == '\\':
			out.WriteByte('\\')
			out.WriteRune(char)
		case char == '\b':
			out.WriteString(`\b`)
		case char == '\f':
			out.WriteString(`\f`)
		case char == '\n':
			out.WriteString(`\n`)
		case char == '\r':
			out.WriteString(`\r`)
		case char == '\t':
			out.WriteString(`\t`)
		case char < 0x20:
			fmt.Fprintf(out, `\u%04x`, char)
		default:
			out.WriteRune(char)
		}
	}
	out.WriteByte('"')
}

// canonicalNumber writes a double as ECMAScript does.
func canonicalNumber(value float64) string {
	if value == 0 {
		return "0"
	}
	format := byte('f')
	if size := value; size < 0 && (size <= -1e21 || size > -1e-6) || size > 0 && (size >= 1e21 || size < 1e-6) {
		format = 'e'
	}
	text := strconv.FormatFloat(value, format, -1, 64)
	// Go writes e-07 where ECMAScript writes e-7.
	return strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(text)
}

func canonical(out *bytes.Buffer, value any) {
	switch value := value.(type) {
	case nil:
		out.WriteString("null")
	case bool:
		fmt.Fprintf(out, "%t", value)
	case float64:
		out.WriteString(canonicalNumber(value))
	case string:
		canonicalString(out, value)
	case []any:
		out.WriteByte('[')
		for index, one := range value {
			if index > 0 {
				out.WriteByte(',')
			}
			canonical(out, one)
		}
		out.WriteByte(']')
	case map[string]any:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		// By UTF-16 code units.
		sort.Slice(names, func(a, b int) bool {
			left, right := utf16.Encode([]rune(names[a])), utf16.Encode([]rune(names[b]))
			for index := 0; index < len(left) && index < len(right); index++ {
				if left[index] != right[index] {
					return left[index] < right[index]
				}
			}
			return len(left) < len(right)
		})
		out.WriteByte('{')
		for index, name := range names {
			if index > 0 {
				out.WriteByte(',')
			}
			canonicalString(out, name)
			out.WriteByte(':')
			canonical(out, value[name])
		}
		out.WriteByte('}')
	}
}

// probe tells the conformance suite how often an event took effect, and what was stored of it.
func (j *journal) probe(id string) map[string]any {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	done := j.done[id]
	if len(done) == 0 {
		return map[string]any{"effects": 0}
	}
	var data any
	if json.Unmarshal(done[0].Data, &data) != nil {
		return map[string]any{"effects": len(done)}
	}
	var text bytes.Buffer
	canonical(&text, data)
	return map[string]any{"effects": len(done), "digest": fmt.Sprintf("sha256:%x", sha256.Sum256(text.Bytes()))}
}

func main() {
	setting := func(name, otherwise string) string {
		if value := os.Getenv(name); value != "" {
			return value
		}
		return otherwise
	}
	var key []byte
	if secret := os.Getenv("WEBHOOK_SECRET"); secret != "" {
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			log.Fatal("WEBHOOK_SECRET is not whsec_ and base64")
		}
		key = decoded
	}
	ledger, err := openJournal(setting("JOURNAL", "receiver.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/hook", func(response http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			response.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, longestBody))
		if err != nil {
			response.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		id := request.Header.Get("webhook-id")
		event, ok := readEvent(id, body)
		switch {
		case !isGenuine(key, request.Header, body):
			response.WriteHeader(http.StatusUnauthorized)
		case id == "" || !ok:
			response.WriteHeader(http.StatusBadRequest)
		default:
			if err := ledger.handleOnce(event); err != nil {
				// The event is not kept, so it is not acknowledged: it will come again. Tell somebody.
				log.Printf("delivery %s failed: %v", id, err)
				response.WriteHeader(http.StatusInternalServerError)
			}
		}
	})
	if os.Getenv("WITH_PROBE") == "1" {
		http.HandleFunc("/probe", func(response http.ResponseWriter, request *http.Request) {
			response.Header().Set("content-type", "application/json")
			_ = json.NewEncoder(response).Encode(ledger.probe(request.URL.Query().Get("id")))
		})
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+setting("PORT", "9000"), nil))
}
