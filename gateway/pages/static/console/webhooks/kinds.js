// What a webhook can be told of, in words.

export const KINDS = {
  "order.paid": "an order was paid or sold", "order.changed": "some of an order was taken back", "order.refunded": "all of an order was taken back",
  "payment.late": "money came too late", "payment.refund_due": "money is to go back", "payment.refunded": "money went back",
  "ticket.transferred": "a ticket was given to somebody", "event.canceled": "an event was canceled", "event.moved": "an event was moved",
};

/** @param {string[]} kinds */
export const kindsWords = (kinds) => (kinds.length ? kinds.join(", ") : "everything");
