// Addresses for mails, as far as a page can tell.

/** Empty, or what mail can be sent to; the server has the last word. @param {string} text */
export const isAddress = (text) => text === "" || /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text);
