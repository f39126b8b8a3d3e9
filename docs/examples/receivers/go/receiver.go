// A webhook receiver in Go.
//
//	go mod init receiver && go get github.com/mattn/go-sqlite3
//	PORT=9000 DATABASE=receiver.db WEBHOOK_SECRET=whsec_... go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	_ "github.com/mattn/go-sqlite3"
)

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil || len(key) == 0 || os.Getenv("DATABASE") == "" {
		log.Fatal("set DATABASE, and WEBHOOK_SECRET to whsec_ and base64")
	}
	// FULL: a commit returns when the rows are on disk.
	options := "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=4000&_txlock=immediate"
	db, err := sql.Open("sqlite3", os.Getenv("DATABASE")+options)
	if err == nil {
		_, err = db.Exec(`CREATE TABLE IF NOT EXISTS webhook_ids (id TEXT PRIMARY KEY);
			CREATE TABLE IF NOT EXISTS events (webhook_id TEXT NOT NULL, body TEXT NOT NULL)`)
	}
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/hook", func(response http.ResponseWriter, request *http.Request) {
		response.WriteHeader(receive(db, key, request))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

func receive(db *sql.DB, key []byte, request *http.Request) int {
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	var sent struct {
		Event struct{ Data map[string]json.RawMessage }
	}
	if request.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	} else if err != nil || !isGenuine(key, request.Header, body) {
		return http.StatusUnauthorized
	} else if !utf8.Valid(body) || json.Unmarshal(body, &sent) != nil || sent.Event.Data == nil {
		return http.StatusBadRequest
	} else if err := keepOnce(db, request.Header.Get("webhook-id"), string(body)); err != nil {
		log.Print("not kept, so it comes again: ", err)
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

func isGenuine(key []byte, header http.Header, body []byte) bool {
	timestamp := header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("webhook-id"), timestamp, body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(given), expected) {
			return err == nil && time.Since(time.Unix(seconds, 0)).Abs() <= 5*time.Minute
		}
	}
	return false
}

// One transaction: the id is known and the event is kept, or neither. Another process works on `events` later.
func keepOnce(db *sql.DB, id, body string) error {
	transaction, err := db.Begin()
	if err != nil {
		return err
	}
	defer transaction.Rollback()
	known, err := transaction.Exec("INSERT INTO webhook_ids VALUES (?) ON CONFLICT DO NOTHING", id)
	if err != nil {
		return err
	}
	if isNew, err := known.RowsAffected(); err != nil || isNew == 0 {
		return err
	}
	if _, err := transaction.Exec("INSERT INTO events VALUES (?, ?)", id, body); err != nil {
		return err
	}
	return transaction.Commit()
}
