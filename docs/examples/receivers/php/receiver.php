<?php
// A webhook receiver in PHP 8 with the sqlite3 driver of PDO.
//
//   WEBHOOK_SECRET=whsec_... PHP_CLI_SERVER_WORKERS=4 php -S 127.0.0.1:9000 receiver.php
declare(strict_types=1);

// An error that is shown is answered 200, and the event is lost; one that is logged is answered 500.
ini_set('display_errors', '0');

$key = base64_decode(preg_replace('/^whsec_/', '', (string) getenv('WEBHOOK_SECRET')), true);
if (!$key) {
    throw new RuntimeException('WEBHOOK_SECRET is not set, or is not whsec_ and base64');
}

function isGenuine(string $key, string $id, string $timestamp, string $signatures, string $body): bool
{
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $signatures) as $signature) {
        if (hash_equals($expected, $signature)) {
            return ctype_digit($timestamp) && abs(time() - (int) $timestamp) <= 300;
        }
    }
    return false;
}

function keepOnce(string $id, string $body): void
{
    $db = new PDO('sqlite:' . (getenv('DATABASE') ?: 'receiver.db'), options: [PDO::ATTR_TIMEOUT => 4]);
    $db->exec('PRAGMA journal_mode = WAL');
    $db->exec('PRAGMA synchronous = FULL'); // a commit returns when the rows are on disk
    $db->exec('CREATE TABLE IF NOT EXISTS webhook_ids (id TEXT PRIMARY KEY)');
    $db->exec('CREATE TABLE IF NOT EXISTS events (webhook_id TEXT NOT NULL, body TEXT NOT NULL)');
    // One transaction: the id is known and the event is kept, or neither. Another process works on `events` later.
    $db->beginTransaction();
    $mark = $db->prepare('INSERT INTO webhook_ids VALUES (?) ON CONFLICT DO NOTHING');
    $mark->execute([$id]);
    if ($mark->rowCount() === 1) {
        $db->prepare('INSERT INTO events VALUES (?, ?)')->execute([$id, $body]);
    }
    $db->commit();
}

$body = file_get_contents('php://input');
[$id, $timestamp, $signatures] = array_map(fn($name) => $_SERVER["HTTP_WEBHOOK_$name"] ?? '', ['ID', 'TIMESTAMP', 'SIGNATURE']);
if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    http_response_code(405);
} elseif (!isGenuine($key, $id, $timestamp, $signatures, $body)) {
    http_response_code(401);
} elseif (!is_array(json_decode($body, true, 10000)['event']['data'] ?? null)) {
    http_response_code(400);
} else {
    keepOnce($id, $body);
}
