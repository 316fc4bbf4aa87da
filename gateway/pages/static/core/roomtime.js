// The time of who was called, to begin and then to choose: who needs longer is warned before it ends and gets more
// by one act. All of it is said aloud too.

/** Before the time ends its buyer is warned; where all of it is short, when half of it is left. */
const WARN_MS = { begin_by: 60_000, until: 120_000 };
const WARN = { begin_by: "turn.soon", until: "inside.soon" };

export class RoomTime {
  /** @param {import("./room.js").Room} room */
  constructor(room) {
    this.room = room;
    /** The end that was warned of. */
    this.warned = 0;
  }

  /** Which of the place's times runs. @returns {"begin_by" | "until" | null} */
  get name() {
    return { turn: "begin_by", inside: "until" }[this.room.stands] ?? null;
  }

  /** When it ends; 0 where none runs. */
  get end() {
    return this.name ? this.room.place[this.name] : 0;
  }

  /** Whether it ends so soon that its buyer is warned. */
  get soon() {
    const { status } = this.room;
    if (!this.name) return false;
    const whole_ms = 1000 * (this.name === "begin_by" ? status.begin_seconds : status.shopping_seconds);
    return this.room.left_ms(this.name) <= Math.min(WARN_MS[this.name], whole_ms / 2);
  }

  /** Warns once of each end. */
  watch() {
    const { room, name, end } = this;
    if (!name || !this.soon || this.warned === end) return;
    this.warned = end;
    const shop = name === "until" && room.returning.address;
    const ahead = room.words(shop ? "back.soon" : WARN[name], { minutes: this.#minutes() });
    room.sale.say(room.place.more_left > 0 ? `${ahead} ${room.words("more.can", { button: room.words("more") })}` : ahead);
  }

  /** What this buyer was given since the place was `before`, aloud. @param {import("./roomline.js").Place | null} before */
  changed(before) {
    const { room, name, end } = this;
    const { place } = room;
    if (!name || !before || before.place !== place.place || before.more_left <= place.more_left || before[name] >= end) return;
    room.sale.say(`${room.words("more.given", { minutes: this.#minutes() })} ${this.left}`);
  }

  /** So often more can still be had. */
  get left() {
    const { more_left } = this.room.place;
    return this.room.words(more_left ? "more.left" : "more.none", { count: more_left });
  }

  #minutes() {
    return this.room.words("minutes", { count: Math.max(1, Math.ceil(this.room.left_ms(this.name) / 60_000)) });
  }
}
